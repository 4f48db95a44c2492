// A library of one operator with kernels of its own; built like main.cc, it is build/libbend.so. Python
// loads it with fluidcore.load_op_library, a C++ program as custom_operator.cc does.

#include <cmath>
#include <cstdint>

#include "fluidcore/op/op_def.h"
#include "fluidcore/ops/op_library.h"

namespace fc = fluidcore;

namespace {

// Out = X tanh(X / 2)
template <class T>
fc::Kernel bend(const fc::KernelContext& context) {
  const auto x = context.input<T>("X");
  return [x, out = context.output<T>("Out"), size = x.size()] {
    for (std::int64_t i = 0; i < size; ++i) {
      out.data()[i] = x.data()[i] * std::tanh(x.data()[i] / 2);
    }
  };
}

// X@GRAD = Out@GRAD (t + X (1 - t^2) / 2), where t = tanh(X / 2)
template <class T>
fc::Kernel bend_grad(const fc::KernelContext& context) {
  const auto x = context.input<T>("X");
  return
      [x, dout = context.input<T>("Out@GRAD"), dx = context.output<T>("X@GRAD"), size = x.size()] {
        for (std::int64_t i = 0; i < size; ++i) {
          const T t = std::tanh(x.data()[i] / 2);
          dx.data()[i] = dout.data()[i] * (t + x.data()[i] * (1 - t * t) / 2);
        }
      };
}

constexpr fc::KernelKey kSingle = {fc::DeviceKind::kCpu, fc::DType::kFloat32};
constexpr fc::KernelKey kDouble = {fc::DeviceKind::kCpu, fc::DType::kFloat64};

}  // namespace

void fluidcore_register(fc::OpRegistry& registry) {
  registry.add(fc::OpDef("bend")
                   .doc("Out = X tanh(X / 2), element by element.")
                   .input("X", "any shape, floating")
                   .output("Out", "shape and dtype of X")
                   .infer(fc::same_as("X"))
                   .kernels({{kSingle, bend<float>}, {kDouble, bend<double>}})
                   .grad(fc::standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(fc::OpDef("bend_grad")
                   .doc("X@GRAD = Out@GRAD times the derivative of bend at X.")
                   .input("X", "input of the forward operator")
                   .input("Out@GRAD", "gradient of Out")
                   .output("X@GRAD", "gradient of X")
                   .infer(fc::infer_grads_like_inputs)
                   .kernels({{kSingle, bend_grad<float>}, {kDouble, bend_grad<double>}}));
}
