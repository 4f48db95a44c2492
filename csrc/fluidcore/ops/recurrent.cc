#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/ops/bytes.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

using Names = std::vector<std::string>;

TensorSpec slice_of(const TensorSpec& whole) {
  return {Shape({whole.shape.begin() + 1, whole.shape.end()}), whole.dtype};
}

TensorSpec stack_of(std::int64_t steps, const TensorSpec& slice) {
  std::vector<std::int64_t> extents = {steps};
  extents.insert(extents.end(), slice.shape.begin(), slice.shape.end());
  return {Shape(std::move(extents)), slice.dtype};
}

// A tensor that is cut into its slices along dimension 0, or put together from them.
template <class T>
struct Slices {
  Arg<T> whole;
  std::int64_t bytes;  // of a slice

  T* at(std::int64_t step) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return static_cast<Byte*>(whole.data()) + step * bytes;
  }
};

struct StepInput {
  Slices<const void> slices;
  Cell* given;
};
struct StepOutput {
  Slices<void> slices;
  const Cell* result;
  Place place;  // of the result, where the block leaves it right in its slice
};

// A value that goes from step to step. It is kept in two places in turn: all states are copied
// before the block may see one of the new values. A result that is in a slice stays there.
struct State {
  Arg<const void> initial;
  Cell* given;
  const Cell* result;
  Place place;       // of the result, where the block leaves it in the two places itself
  bool is_in_slice;  // of an output
  std::shared_ptr<void> memory[2];
  std::int64_t bytes;
};

struct SetCount {
  std::int64_t count;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index /*i*/, std::int64_t* to) const {
    *to = count;
  }
};

// The kernel of recurrent and, without states, of recurrent_grad.
class Recurrence {
 public:
  explicit Recurrence(const KernelContext& context)
      : device_(context.device()),
        block_(context.block()),
        is_reverse_(context.attr<bool>("reverse")) {
    const auto& step_inputs = context.attr<Names>("step_inputs");
    for (std::size_t i = 0; i < step_inputs.size(); ++i) {
      const auto whole = context.raw_input("inputs", i);
      Cell& given = block_.given(step_inputs[i]);
      inputs_.push_back({{whole, bytes_of(given.spec)}, &given});
    }
    const auto& step_outputs = context.attr<Names>("step_outputs");
    for (std::size_t i = 0; i < context.output_count("outputs"); ++i) {
      if (!context.has_output("outputs", i)) continue;
      const std::string& name = step_outputs[i];
      const Cell& result = block_.result(name);
      Place place = block_.place_of(name);
      if (place && !in_slices_.insert(name).second) place = {};  // it is in another one's slice
      outputs_.push_back(
          {{context.raw_output("outputs", i), bytes_of(result.spec)}, &result, std::move(place)});
    }
    steps_ = context.raw_input(context.has_input("inputs") ? "inputs" : "like").shape()[0];
    count_ = context.optional_output<std::int64_t>("step_scopes");
  }

  void add_states(const KernelContext& context) {
    const auto& ex_states = context.attr<Names>("ex_states");
    const auto& states = context.attr<Names>("states");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto initial = context.raw_input("initial_states", i);
      const std::int64_t bytes = bytes_of(initial.spec());
      const auto size = static_cast<std::size_t>(bytes);
      const bool is_in_slice = in_slices_.contains(states[i]);
      const bool is_first = seen.insert(states[i]).second;
      const auto own_memory = [&] { return is_in_slice ? nullptr : device_.allocate(size); };
      states_.push_back({initial,
                         &block_.given(ex_states[i]),
                         &block_.result(states[i]),
                         is_first && !is_in_slice ? block_.place_of(states[i]) : Place(),
                         is_in_slice,
                         {own_memory(), own_memory()},
                         bytes});
    }
  }

  void run() const {
    for (const State& state : states_) {
      state.given->data = const_cast<void*>(state.initial.data());  // the block only reads it
    }
    for (std::int64_t i = 0; i < steps_; ++i) {
      const auto place = static_cast<std::size_t>(i % 2);
      for (const State& state : states_) state.place.set(state.memory[place].get());
      run_step(is_reverse_ ? steps_ - 1 - i : i);
      if (i + 1 < steps_) carry_states(place);
    }
    if (count_) set_count();
  }

  bool is_enqueued() const { return block_.is_enqueued(); }

 private:
  void run_step(std::int64_t step) const {
    for (const StepInput& input : inputs_) {
      input.given->data = const_cast<void*>(input.slices.at(step));  // the block only reads it
    }
    for (const StepOutput& output : outputs_) output.place.set(output.slices.at(step));
    block_.run();
    for (const StepOutput& output : outputs_) {
      if (output.place) continue;
      device_.copy(output.slices.at(step), output.result->data, output.slices.bytes);
    }
  }
  void set_count() const {
    if constexpr (kHasCuda) {
      if (!device_.device().is_cpu()) {
        return cuda::for_each(device_, 1, SetCount{steps_}, count_.data());
      }
    }
    *count_.data() = steps_;
  }

  void carry_states(std::size_t place) const {
    for (const State& state : states_) {
      if (state.place || state.is_in_slice) continue;
      device_.copy(state.memory[place].get(), state.result->data, state.bytes);
    }
    for (const State& state : states_) {
      state.given->data = state.is_in_slice ? state.result->data : state.memory[place].get();
    }
  }

  DeviceContext& device_;
  SubBlock& block_;
  bool is_reverse_;
  std::int64_t steps_ = 0;
  Arg<std::int64_t> count_;
  std::vector<StepInput> inputs_;
  std::vector<StepOutput> outputs_;
  std::set<std::string> in_slices_;  // what of the results the block leaves there
  std::vector<State> states_;
};

Kernel kernel_of(const std::shared_ptr<const Recurrence>& recurrence) {
  const auto run = [recurrence] { recurrence->run(); };
  return recurrence->is_enqueued() ? Kernel::enqueued(run) : Kernel(run);
}

Kernel recurrent(const KernelContext& context) {
  const auto recurrence = std::make_shared<Recurrence>(context);
  recurrence->add_states(context);
  return kernel_of(recurrence);
}

Kernel recurrent_grad(const KernelContext& context) {
  return kernel_of(std::make_shared<Recurrence>(context));
}

void require_same_count(const InferContext& context,
                        const char* slot,
                        std::size_t variables,
                        const char* attr,
                        std::size_t names) {
  require(variables == names, context.type(), ": ", slot, " and ", attr,
          " must have the same length, got ", variables, " and ", names);
}

// The extent of dimension 0 of every input; -1 if it is not known.
std::int64_t number_of_steps(const InferContext& context) {
  const bool from_like = !context.has_input("inputs");
  const char* slot = from_like ? "like" : "inputs";
  require(context.has_input(slot), context.type(), ": inputs must hold at least one variable, got ",
          "none; their first extent is the number of steps");
  std::int64_t steps = -1;
  for (std::size_t i = 0; i < context.input_count(slot); ++i) {
    const TensorSpec& whole = context.input(slot, i);
    require(whole.shape.rank() > 0, context.type(), ": ", slot,
            " must have a first dimension, the steps, got a scalar at position ", i);
    if (steps == -1) steps = whole.shape[0];
  }
  if (from_like) return steps;
  std::string lengths;
  bool agree = true;
  const auto& names = context.attr<Names>("step_inputs");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t length = context.input("inputs", i).shape[0];
    agree = agree && compatible(length, steps);
    lengths += str_cat(i == 0 ? "" : ", ", "'", names[i], "' ", length);
  }
  require(agree, context.type(), ": inputs must all have one length, the number of steps, ", "got ",
          lengths);
  return steps;
}

void require_fits(const InferContext& context, const std::string& name, const TensorSpec& spec) {
  const TensorSpec inner = context.block_variable(name);
  require(inner.dtype == spec.dtype && compatible(inner.shape, spec.shape), context.type(),
          ": the block's variable '", name, "' must be like the value it is given, ", spec,
          ", got ", inner);
}

BlockTraits::Specs given_slices(const InferContext& context) {
  const auto& names = context.attr<Names>("step_inputs");
  require_same_count(context, "inputs", context.input_count("inputs"), "step_inputs", names.size());
  number_of_steps(context);
  BlockTraits::Specs given;
  for (std::size_t i = 0; i < names.size(); ++i) {
    given.emplace_back(names[i], slice_of(context.input("inputs", i)));
  }
  return given;
}

BlockTraits::Specs given_slices_and_states(const InferContext& context) {
  BlockTraits::Specs given = given_slices(context);
  const auto& names = context.attr<Names>("ex_states");
  const std::size_t count = context.input_count("initial_states");
  require_same_count(context, "initial_states", count, "ex_states", names.size());
  require_same_count(context, "initial_states", count, "states",
                     context.attr<Names>("states").size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    given.emplace_back(names[i], context.input("initial_states", i));
  }
  return given;
}

// What the block must have been given, and the stacks of what it leaves.
void infer_steps(InferContext& context, const BlockTraits::Specs& given) {
  std::set<std::string> names;
  for (const auto& [name, spec] : given) {
    require(names.insert(name).second, context.type(),
            ": step_inputs and ex_states must be different variables, got '", name, "' twice");
    require_fits(context, name, spec);
  }
  const auto& step_outputs = context.attr<Names>("step_outputs");
  const std::size_t count = context.output_count("outputs");
  if (count > 0) {
    require_same_count(context, "outputs", count, "step_outputs", step_outputs.size());
  }
  const std::int64_t steps = number_of_steps(context);
  for (std::size_t i = 0; i < count; ++i) {
    if (!context.has_output("outputs", i)) continue;
    context.set_output("outputs", stack_of(steps, context.block_variable(step_outputs[i])), i);
  }
  context.set_output("step_scopes", {{1}, DType::kInt64});
}

void infer_recurrent(InferContext& context) {
  infer_steps(context, given_slices_and_states(context));
  const auto& states = context.attr<Names>("states");
  for (std::size_t i = 0; i < states.size(); ++i) {
    require_fits(context, states[i], context.input("initial_states", i));
  }
}

void infer_recurrent_grad(InferContext& context) {
  infer_steps(context, given_slices(context));
}

// The names that the block has for what is stacked.
Names stacked_names(const OpDesc& op) {
  const Names& outputs = op.output("outputs");
  const auto& step_outputs = std::get<Names>(op.attr("step_outputs"));
  Names names;
  for (std::size_t i = 0; i < std::min(outputs.size(), step_outputs.size()); ++i) {
    if (outputs[i] != kEmptyName) names.push_back(step_outputs[i]);
  }
  return names;
}

Names stacked_names_and_states(const OpDesc& op) {
  Names names = stacked_names(op);
  const auto& states = std::get<Names>(op.attr("states"));
  names.insert(names.end(), states.begin(), states.end());
  return names;
}

Names grad_names(const Names& names) {
  Names grads;
  for (const std::string& name : names) grads.push_back(grad_name(name));
  return grads;
}

// Of recurrent and of recurrent_grad: the slices of the gradients of the outputs go in, those of
// the inputs come out.
std::vector<OpDesc> make_recurrent_grad(GradContext& context) {
  const auto& blocks = context.grad_sub_blocks();
  const OpDesc& forward = context.forward();
  require(blocks.size() == 1, forward.type(),
          ": the gradient needs the gradient of the operator's block, got ", blocks.size(),
          " in grad_sub_blocks");
  const Names output_grads = context.output_grad("outputs");
  const auto& step_outputs = std::get<Names>(forward.attr("step_outputs"));
  Names inputs;
  Names step_inputs;
  for (std::size_t i = 0; i < std::min(output_grads.size(), step_outputs.size()); ++i) {
    if (output_grads[i] == kEmptyName) continue;
    inputs.push_back(output_grads[i]);
    step_inputs.push_back(grad_name(step_outputs[i]));
  }
  Names like = context.input("inputs").empty() ? context.input("like") : context.input("inputs");
  like.resize(std::min<std::size_t>(like.size(), 1));
  return {OpDesc("recurrent_grad", {{"inputs", inputs}, {"like", like}},
                 {{"outputs", context.input_grad("inputs")}},
                 {{"sub_block", blocks[0]},
                  {"step_inputs", step_inputs},
                  {"step_outputs", grad_names(std::get<Names>(forward.attr("step_inputs")))},
                  {"reverse", !std::get<bool>(forward.attr("reverse"))}})};
}

OpDef with_step_attrs(OpDef&& def) {
  return std::move(def)
      .attr("step_inputs", Names(), "names in the block of the slices of inputs, in their order")
      .attr("step_outputs", Names(), "names in the block of the slices of outputs, in their order")
      .attr("reverse", false,
            "whether the steps run from the last slice to the first; every result still has the "
            "place of its own step");
}

}  // namespace

void register_recurrent_ops(OpRegistry& registry) {
  registry.add(
      with_step_attrs(
          OpDef("recurrent")
              .doc("Runs the block once for each slice of inputs along dimension 0, with states "
                   "that go from step to step.")
              .input("inputs", "one or more tensors of the same first extent", {.list = true})
              .input("initial_states", "values of ex_states in the first step",
                     {.list = true, .optional = true})
              .input("parameters", "variables around the block that it reads", of_sub_block())
              .output("outputs", "the values of step_outputs in all steps, stacked",
                      {.list = true, .optional = true})
              .output("step_scopes", "int64 [1]: the number of steps", {.intermediate = true})
              .runs_block({.given = given_slices_and_states,
                           .results = stacked_names_and_states,
                           .places_results = true,
                           .repeats = true}))
          .attr("ex_states", Names(), "names in the block of the states before the step")
          .attr("states", Names(), "names in the block of the same states after the step")
          .attr("is_train", true, "accepted; what a gradient needs is always there")
          .infer(infer_recurrent)
          .kernels(byte_kernels_everywhere(recurrent))
          .grad(make_recurrent_grad)
          .mixed_dtypes());
  registry.add(
      with_step_attrs(
          OpDef("recurrent_grad")
              .doc("Runs the gradient of a block once for each step, with slices of the gradients "
                   "of its outputs.")
              .input("inputs", "gradients of outputs, of the same first extent",
                     {.list = true, .optional = true})
              .input("like", "a variable with the first extent of inputs, where there are none",
                     {.list = true, .optional = true, .shape_only = true})
              .input("parameters", "variables around the block that it reads", of_sub_block())
              .output("outputs", "gradients of inputs, shapes of inputs",
                      {.list = true, .optional = true})
              .output("step_scopes", "int64 [1]: the number of steps", {.intermediate = true})
              .runs_block({.given = given_slices,
                           .results = stacked_names,
                           .places_results = true,
                           .repeats = true}))
          .infer(infer_recurrent_grad)
          .kernels(byte_kernels_everywhere(recurrent_grad))
          .grad(make_recurrent_grad)
          .mixed_dtypes());
}

}  // namespace fluidcore
