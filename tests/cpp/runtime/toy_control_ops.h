#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "fluidcore/base/philox.h"
#include "fluidcore/tensor/tensor_array.h"
#include "runtime/toy_ops.h"

namespace fluidcore {

inline OpDef with_kernel(OpDef&& def, KernelFactory factory) {
  return std::move(def).mixed_dtypes().kernels({{{DeviceKind::kCpu, DType::kFloat32}, factory}});
}

// More operators for the tests of the runtime, all float32:
//   add          Out = X + Y, may run in place
//   subtract_one Out = X - 1, may run in place
//   zeros_like   Out = zeros in the shape of X, whose elements are not read
//   draw         Out [1] = a random number
//   choose       Out = X[0] if it is given, else Y; X may have no value
//   select       Out = the elements of X that are above zero
//   version      Out [1] = the version of X, -1 unless X is a constant
//   push, pop, length   of tensor arrays
inline void add_toy_tensor_ops(OpRegistry& registry) {
  registry.add(with_kernel(
      OpDef("add")
          .input("X", "any shape")
          .input("Y", "shape of X")
          .output("Out", "shape of X")
          .in_place("X", "Out")
          .infer([](InferContext& context) {
            require(compatible(context.input("X").shape, context.input("Y").shape),
                    "add: Y must have the shape of X, ", context.input("X"), ", got ",
                    context.input("Y"));
            context.set_output("Out", context.input("X"));
          }),
      [](const KernelContext& context) -> Kernel {
        return [x = context.input<float>("X"), y = context.input<float>("Y"),
                out = context.output<float>("Out"), size = context.input<float>("X").size()] {
          for (std::int64_t i = 0; i < size; ++i) out.data()[i] = x.data()[i] + y.data()[i];
        };
      }));
  registry.add(with_kernel(OpDef("subtract_one")
                               .input("X", "any shape")
                               .output("Out", "shape of X")
                               .in_place("X", "Out")
                               .infer(same_as("X")),
                           [](const KernelContext& context) -> Kernel {
                             return
                                 [x = context.input<float>("X"), out = context.output<float>("Out"),
                                  size = context.input<float>("X").size()] {
                                   for (std::int64_t i = 0; i < size; ++i) {
                                     out.data()[i] = x.data()[i] - 1;
                                   }
                                 };
                           }));
  registry.add(with_kernel(OpDef("zeros_like")
                               .input("X", "any shape", {.shape_only = true})
                               .output("Out", "shape of X")
                               .infer(same_as("X")),
                           [](const KernelContext& context) -> Kernel {
                             return [out = context.output<float>("Out")] {
                               std::fill_n(out.data(), out.size(), 0.0f);
                             };
                           }));
  registry.add(with_kernel(
      OpDef("draw")
          .output("Out", "[1]")
          .attr("seed", std::int64_t{0}, "of its own")
          .random()
          .infer([](InferContext& context) { context.set_output("Out", {{1}, DType::kFloat32}); }),
      [](const KernelContext& context) -> Kernel {
        return [out = context.output<float>("Out"),
                stream = context.random(context.attr<std::int64_t>("seed"))] {
          out.data()[0] = RandomSequence{stream.key(), stream.offset()}.uniform<float>(0);
        };
      }));
  registry.add(
      with_kernel(OpDef("choose")
                      .input("Mask", "[1]")
                      .input("X", "[n]", {.may_be_unset = true})
                      .input("Y", "[n]", {.may_be_unset = true})
                      .output("Out", "[n]: X where Mask is above zero, else Y")
                      .infer(same_as("X")),
                  [](const KernelContext& context) -> Kernel {
                    return [mask = context.input<float>("Mask"), x = context.input<float>("X"),
                            y = context.input<float>("Y"), out = context.output<float>("Out")] {
                      std::copy_n(mask.data()[0] > 0 ? x.data() : y.data(), out.size(), out.data());
                    };
                  }));
  registry.add(with_kernel(
      OpDef("select")
          .input("X", "[n]")
          .output("Out", "[m]: the elements above zero")
          .extents_from_data()
          .infer([](InferContext& context) {
            context.set_output("Out",
                               {context.extents_from_data().value_or(Shape{-1}), DType::kFloat32});
          }),
      [](const KernelContext& context) -> Kernel {
        return [x = context.input<float>("X"), out = context.output<float>("Out"),
                size = context.input<float>("X").size(), wanted = context.extents_from_data()] {
          const auto is_chosen = [](float value) { return value > 0; };
          const Shape count{std::count_if(x.data(), x.data() + size, is_chosen)};
          if (count != wanted) throw ExtentsChanged(count);
          std::copy_if(x.data(), x.data() + size, out.data(), is_chosen);
        };
      }));
  registry.add(with_kernel(
      OpDef("version")
          .input("X", "any shape")
          .output("Out", "[1]")
          .infer([](InferContext& context) { context.set_output("Out", {{1}, DType::kFloat32}); }),
      [](const KernelContext& context) -> Kernel {
        return [x = context.input<float>("X").cell(), out = context.output<float>("Out")] {
          out.data()[0] = x->is_constant ? static_cast<float>(x->version) : -1.0f;
        };
      }));
}

inline void add_toy_array_ops(OpRegistry& registry) {
  const SlotTraits kArray{.array = true};
  registry.add(with_kernel(
      OpDef("push")
          .input("X", "any shape")
          .input("Array", "the array", kArray)
          .output("ArrayOut", "the same", kArray)
          .infer([](InferContext& context) { context.set_output("ArrayOut", context.input("X")); }),
      [](const KernelContext& context) -> Kernel {
        return [x = context.input<float>("X"), &array = context.array_output("ArrayOut")] {
          array.push(x.data());
        };
      }));
  registry.add(with_kernel(OpDef("pop")
                               .input("Array", "the array", kArray)
                               .output("Out", "an element")
                               .output("ArrayOut", "the same", kArray)
                               .checks_data()
                               .infer([](InferContext& context) {
                                 context.set_output("Out", context.input("Array"));
                                 context.set_output("ArrayOut", context.input("Array"));
                               }),
                           [](const KernelContext& context) -> Kernel {
                             return [out = context.output<float>("Out"),
                                     &array = context.array_output("ArrayOut")] {
                               array.pop(out.data());
                             };
                           }));
  registry.add(with_kernel(
      OpDef("length")
          .input("Array", "the array", kArray)
          .output("Out", "[1]")
          .infer([](InferContext& context) { context.set_output("Out", {{1}, DType::kFloat32}); }),
      [](const KernelContext& context) -> Kernel {
        return [out = context.output<float>("Out"), &array = context.array_input("Array")] {
          out.data()[0] = static_cast<float>(array.size());
        };
      }));
}

//   while_positive  runs the block as long as Condition [1] is above zero
//   if_positive     runs the block once if X [1] is above zero
//   scan            Out[t] = the block's variable `result`, with its variable `slice` = X[t] and
//   its
//                   variable `state` = what the variable `next` was in the step before, at first Y
inline void add_toy_control_ops(OpRegistry& registry) {
  const SlotTraits kOfBlock{.list = true, .optional = true, .of_block = true};
  registry.add(with_kernel(
      OpDef("while_positive")
          .input("X", "what the block reads", kOfBlock)
          .input("Condition", "[1]", {.live = true})
          .output("Out", "what the block writes", kOfBlock)
          .runs_block(
              {.results = [](const OpDesc& op) { return op.input("Condition"); }, .repeats = true})
          .checks_data(),
      [](const KernelContext& context) -> Kernel {
        return [condition = context.input<float>("Condition"), &block = context.block()] {
          while (condition.data()[0] > 0) block.run();
        };
      }));
  registry.add(with_kernel(OpDef("if_positive")
                               .input("X", "[1]")
                               .output("Out", "what the block writes", kOfBlock)
                               .runs_block(),
                           [](const KernelContext& context) -> Kernel {
                             return [x = context.input<float>("X"), &block = context.block()] {
                               if (x.data()[0] > 0) block.run();
                             };
                           }));
  registry.add(with_kernel(
      OpDef("scan")
          .input("X", "[n, ...]")
          .input("Y", "the first state")
          .output("Out", "[n, ...]")
          .attr("slice", "", "name")
          .attr("state", "", "name")
          .attr("next", "", "name")
          .attr("result", "", "name")
          .runs_block({.given =
                           [](const InferContext& context) {
                             const Shape& x = context.input("X").shape;
                             const Shape slice({x.begin() + 1, x.end()});
                             return BlockTraits::Specs{
                                 {context.attr<std::string>("slice"), {slice, DType::kFloat32}},
                                 {context.attr<std::string>("state"), context.input("Y")}};
                           },
                       .results =
                           [](const OpDesc& op) {
                             return std::vector<std::string>{
                                 std::get<std::string>(op.attr("next")),
                                 std::get<std::string>(op.attr("result"))};
                           }})
          .infer([](InferContext& context) {
            TensorSpec out = context.block_variable(context.attr<std::string>("result"));
            std::vector<std::int64_t> extents = {context.input("X").shape[0]};
            extents.insert(extents.end(), out.shape.begin(), out.shape.end());
            context.set_output("Out", {Shape(extents), out.dtype});
          }),
      [](const KernelContext& context) -> Kernel {
        const auto x = context.input<float>("X");
        const auto y = context.input<float>("Y");
        const auto out = context.output<float>("Out");
        SubBlock& block = context.block();
        Cell& slice = block.given(context.attr<std::string>("slice"));
        Cell& state = block.given(context.attr<std::string>("state"));
        const Cell& next = block.result(context.attr<std::string>("next"));
        const Cell& result = block.result(context.attr<std::string>("result"));
        auto memory = std::make_shared<std::vector<float>>(y.size());
        return [=, &block, &slice, &state, &next, &result, steps = x.shape()[0]] {
          const std::int64_t width = slice.spec.shape.num_elements();
          const std::int64_t out_width = result.spec.shape.num_elements();
          std::copy_n(y.data(), memory->size(), memory->data());
          for (std::int64_t t = 0; t < steps; ++t) {
            slice.data = const_cast<float*>(x.data()) + t * width;
            state.data = memory->data();
            block.run();
            std::copy_n(static_cast<const float*>(result.data), out_width,
                        out.data() + t * out_width);
            std::copy_n(static_cast<const float*>(next.data), memory->size(), memory->data());
          }
        };
      }));
}

inline OpRegistry toy_control_ops() {
  OpRegistry registry = toy_ops();
  add_toy_tensor_ops(registry);
  add_toy_array_ops(registry);
  add_toy_control_ops(registry);
  return registry;
}

}  // namespace fluidcore
