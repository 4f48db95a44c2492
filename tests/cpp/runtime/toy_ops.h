#pragma once

#include <cstdint>

#include "fluidcore/base/error.h"
#include "fluidcore/op/op_registry.h"

namespace fluidcore {

// Operators of a few lines each for the tests of the runtime, all float32:
//   constant  Out [2] = value
//   add_one   Out = X + 1, may run in place
//   reverse   Out = X back to front, cannot run in place
//   check     Out = X, throws where X holds a negative number
inline OpRegistry toy_ops() {
  OpRegistry registry;
  registry.add(
      OpDef("constant")
          .output("Out", "[2]")
          .attr("value", 0.0, "of every element")
          .infer([](InferContext& context) { context.set_output("Out", {{2}, DType::kFloat32}); })
          .kernels(
              {{{DeviceKind::kCpu, DType::kFloat32}, [](const KernelContext& context) -> Kernel {
                  const auto out = context.output<float>("Out");
                  const auto value = static_cast<float>(context.attr<double>("value"));
                  return [=] {
                    for (int i = 0; i < 2; ++i) out.data()[i] = value;
                  };
                }}}));
  registry.add(OpDef("add_one")
                   .input("X", "any shape")
                   .output("Out", "shape of X")
                   .in_place("X", "Out")
                   .infer(same_as("X"))
                   .kernels({{{DeviceKind::kCpu, DType::kFloat32},
                              [](const KernelContext& context) -> Kernel {
                                const auto x = context.input<float>("X");
                                const auto out = context.output<float>("Out");
                                return [=, size = x.size()] {
                                  for (std::int64_t i = 0; i < size; ++i) {
                                    out.data()[i] = x.data()[i] + 1;
                                  }
                                };
                              }}}));
  registry.add(OpDef("reverse")
                   .input("X", "any shape")
                   .output("Out", "shape of X")
                   .infer(same_as("X"))
                   .kernels({{{DeviceKind::kCpu, DType::kFloat32},
                              [](const KernelContext& context) -> Kernel {
                                const auto x = context.input<float>("X");
                                const auto out = context.output<float>("Out");
                                return [=, size = x.size()] {
                                  for (std::int64_t i = 0; i < size; ++i) {
                                    out.data()[i] = x.data()[size - 1 - i];
                                  }
                                };
                              }}}));
  registry.add(
      OpDef("check")
          .input("X", "any shape")
          .output("Out", "shape of X")
          .checks_data()
          .infer(same_as("X"))
          .kernels(
              {{{DeviceKind::kCpu, DType::kFloat32}, [](const KernelContext& context) -> Kernel {
                  const auto x = context.input<float>("X");
                  const auto out = context.output<float>("Out");
                  return [=, size = x.size()] {
                    for (std::int64_t i = 0; i < size; ++i) {
                      require(x.data()[i] >= 0, "check: X must be at least 0, got ", x.data()[i]);
                      out.data()[i] = x.data()[i];
                    }
                  };
                }}}));
  return registry;
}

}  // namespace fluidcore
