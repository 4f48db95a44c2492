#include <utility>

#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/on_host.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/single_element.h"

namespace fluidcore {

namespace {

constexpr const char* kReadDoc = "variables around the block that it reads";
constexpr const char* kWrittenDoc = "variables around the block that it writes";

// The gradient of an operator with a block: `type`, on the gradient of the block.
OpDesc grad_of_block(const GradContext& context, const char* type, SlotMap inputs) {
  const auto& blocks = context.grad_sub_blocks();
  require(blocks.size() == 1, context.forward().type(),
          ": the gradient needs the gradient of the operator's block, got ", blocks.size(),
          " in grad_sub_blocks");
  return OpDesc(type, std::move(inputs), {}, {{"sub_block", blocks[0]}});
}

Kernel while_loop(const KernelContext& context) {
  const auto condition = context.input<bool>("Condition");
  const auto steps = context.optional_output<std::int64_t>("StepScopes");
  const std::int64_t max_steps = context.attr<std::int64_t>("max_steps");
  return [=, &block = context.block()] {
    std::int64_t step = 0;
    for (; read_element(condition); ++step) {
      require(step < max_steps, "while: Condition must become False within max_steps, got True ",
              "after ", step, " steps; update the condition in the block, or raise max_steps");
      block.run();
    }
    if (steps) write_element(steps, step);
  };
}

Kernel while_grad(const KernelContext& context) {
  const auto steps = context.input<std::int64_t>("StepScopes");
  return [=, &block = context.block()] {
    for (std::int64_t left = read_element(steps); left > 0; --left) block.run();
  };
}

void add_while(OpRegistry& registry) {
  registry.add(
      OpDef("while")
          .doc("Runs the block again and again, as long as Condition is true.")
          .input("X", kReadDoc, of_sub_block())
          .input("Condition", "bool, one element; updated in the block", {.live = true})
          .output("Out", kWrittenDoc, of_sub_block())
          .output("StepScopes", "int64 [1]: how often the block was run", {.intermediate = true})
          .runs_block(
              {.results = [](const OpDesc& op) { return op.input("Condition"); }, .repeats = true})
          .attr("max_steps", std::int64_t{1000000},
                "a loop that is longer is taken for one without end")
          .infer([](InferContext& context) {
            require_condition(context, "Condition");
            const std::int64_t max_steps = context.attr<std::int64_t>("max_steps");
            require(max_steps >= 0, "while: max_steps must be at least 0, got ", max_steps);
            context.set_output("StepScopes", {{1}, DType::kInt64});
          })
          .kernels(byte_kernels_everywhere(while_loop))
          .grad([](GradContext& context) {
            return std::vector{grad_of_block(context, "while_grad",
                                             {{"StepScopes", context.output("StepScopes")}})};
          })
          .mixed_dtypes()
          .checks_data());
  registry.add(OpDef("while_grad")
                   .doc("Runs the gradient of a loop's block as often as the loop ran the block.")
                   .input("X", kReadDoc, of_sub_block())
                   .input("StepScopes", "int64 [1]: how often the block is run")
                   .output("Out", kWrittenDoc, of_sub_block())
                   .runs_block({.repeats = true})
                   .infer([](InferContext& context) {
                     require_spec(context, "StepScopes", {{1}, DType::kInt64});
                   })
                   .kernels(byte_kernels_everywhere(while_grad))
                   .grad([](GradContext& context) {
                     return std::vector{grad_of_block(
                         context, "while_grad", {{"StepScopes", context.input("StepScopes")}})};
                   })
                   .mixed_dtypes());
}

Kernel conditional_block(const KernelContext& context) {
  const auto was_run = context.optional_output<bool>("Scope");
  SubBlock& block = context.block();
  if (context.attr<bool>("is_scalar_condition")) {
    const auto condition = context.input<bool>("X");
    return [=, &block] {
      const bool runs = read_element(condition);
      if (runs) block.run();
      if (was_run) write_element(was_run, runs);
    };
  }
  bool runs = true;
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    runs = runs && context.raw_input("X", i).size() > 0;
  }
  return [=, &block] {
    if (runs) block.run();
    if (was_run) write_element(was_run, runs);
  };
}

Kernel conditional_block_grad(const KernelContext& context) {
  const auto was_run = context.input<bool>("X");
  return [=, &block = context.block()] {
    if (read_element(was_run)) block.run();
  };
}

void infer_conditional_block(InferContext& context) {
  require(context.input_count("X") > 0, "conditional_block: X must hold at least one variable, ",
          "got none");
  if (context.attr<bool>("is_scalar_condition")) {
    require(context.input_count("X") == 1,
            "conditional_block: X must be one variable, the condition, got ",
            context.input_count("X"));
    require_condition(context, "X");
  }
  context.set_output("Scope", {{1}, DType::kBool});
}

void add_conditional_block(OpRegistry& registry) {
  registry.add(
      OpDef("conditional_block")
          .doc("Runs the block once, or not at all: if the condition is true, or if no X is empty.")
          .input("X", "the condition, bool, one element; else tensors of any shape", {.list = true})
          .input("Params", kReadDoc, of_sub_block())
          .output("Out", kWrittenDoc, of_sub_block())
          .output("Scope", "bool [1]: whether the block was run", {.intermediate = true})
          .runs_block()
          .attr("is_scalar_condition", false,
                "whether the element of X decides; else its number of elements does")
          .infer(infer_conditional_block)
          .kernels(byte_kernels_everywhere(conditional_block))
          .grad([](GradContext& context) {
            return std::vector{
                grad_of_block(context, "conditional_block_grad", {{"X", context.output("Scope")}})};
          })
          .mixed_dtypes());
  registry.add(
      OpDef("conditional_block_grad")
          .doc("Runs the gradient of a block if the block was run.")
          .input("X", "bool [1]: whether the block is run")
          .input("Params", kReadDoc, of_sub_block())
          .output("Out", kWrittenDoc, of_sub_block())
          .runs_block()
          .infer([](InferContext& context) { require_spec(context, "X", {{1}, DType::kBool}); })
          .kernels(byte_kernels_everywhere(conditional_block_grad))
          .grad([](GradContext& context) {
            return std::vector{
                grad_of_block(context, "conditional_block_grad", {{"X", context.input("X")}})};
          })
          .mixed_dtypes());
}

}  // namespace

void register_control_flow_ops(OpRegistry& registry) {
  add_while(registry);
  add_conditional_block(registry);
}

}  // namespace fluidcore
