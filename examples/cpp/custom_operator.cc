// Defines an operator with a gradient, and lets the library check that the gradient is right; built
// like main.cc, it is build/custom_operator.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "fluidcore/gradcheck/gradcheck.h"
#include "fluidcore/ops/register_ops.h"

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

fc::OpRegistry with_bend() {
  const fc::KernelKey single = {fc::Device::kCpu, fc::DType::kFloat32};
  const fc::KernelKey exact = {fc::Device::kCpu, fc::DType::kFloat64};
  fc::OpRegistry registry = fc::builtin_ops();
  registry.add(fc::OpDef("bend")
                   .doc("Out = X tanh(X / 2), element by element.")
                   .input("X", "any shape, floating")
                   .output("Out", "shape and dtype of X")
                   .infer(fc::same_as("X"))
                   .kernels({{single, bend<float>}, {exact, bend<double>}})
                   .grad(fc::standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(fc::OpDef("bend_grad")
                   .doc("X@GRAD = Out@GRAD times the derivative of bend at X.")
                   .input("X", "input of the forward operator")
                   .input("Out@GRAD", "gradient of Out")
                   .output("X@GRAD", "gradient of X")
                   .infer(fc::infer_grads_like_inputs)
                   .kernels({{single, bend_grad<float>}, {exact, bend_grad<double>}}));
  return registry;
}

}  // namespace

int main() {
  const fc::OpRegistry registry = with_bend();
  fc::Tensor x({{2, 5}, fc::DType::kFloat32});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = 0.7F * static_cast<float>(i - 4);

  const fc::gradcheck::GradCheck check =
      fc::gradcheck::check_gradients(registry, "bend", {{"X", {x}}});
  std::printf("%s\n", check.message.c_str());
  return check.passed ? 0 : 1;
}
