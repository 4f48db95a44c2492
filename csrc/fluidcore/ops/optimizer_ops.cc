#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "fluidcore/kernels/cpu/optimizers.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// Param, Grad and the optimizer's state have one shape; each output is like the input it updates.
void infer_update(InferContext& context,
                  std::initializer_list<std::string_view> state,
                  std::initializer_list<std::string_view> scalars) {
  const TensorSpec param = context.input("Param");
  require_shape(context, "Grad", param.shape);
  for (const std::string_view slot : state) require_shape(context, slot, param.shape);
  for (const std::string_view slot : scalars) {
    const std::int64_t size = context.input(slot).shape.num_elements();
    require(compatible(size, 1), context.type(), ": ", slot, " must have one element, got shape ",
            context.input(slot).shape);
  }
  context.set_output("ParamOut", param);
  for (const std::string_view slot : state) context.set_output(str_cat(slot, "Out"), param);
}

template <class T>
Kernel sgd(const KernelContext& context) {
  const auto param = context.input<T>("Param");
  const auto rate = context.input<T>("LearningRate");
  const auto grad = context.input<T>("Grad");
  const auto param_out = context.output<T>("ParamOut");
  return [=, size = param.size()] {
    cpu::sgd(size, *rate.data(), param.data(), grad.data(), param_out.data());
  };
}

template <class T>
Kernel momentum(const KernelContext& context) {
  const auto param = context.input<T>("Param");
  const auto grad = context.input<T>("Grad");
  const auto velocity = context.input<T>("Velocity");
  const auto rate = context.input<T>("LearningRate");
  const auto param_out = context.output<T>("ParamOut");
  const auto velocity_out = context.output<T>("VelocityOut");
  const auto mu = static_cast<T>(context.attr<double>("mu"));
  const bool nesterov = context.attr<bool>("use_nesterov");
  return [=, size = param.size()] {
    cpu::momentum(size, *rate.data(), mu, nesterov, param.data(), grad.data(), velocity.data(),
                  param_out.data(), velocity_out.data());
  };
}

template <class T>
Kernel adam(const KernelContext& context) {
  const auto param = context.input<T>("Param");
  const auto grad = context.input<T>("Grad");
  const auto rate = context.input<T>("LearningRate");
  const auto moment1 = context.input<T>("Moment1");
  const auto moment2 = context.input<T>("Moment2");
  const auto beta1_pow = context.input<T>("Beta1Pow");
  const auto beta2_pow = context.input<T>("Beta2Pow");
  const auto param_out = context.output<T>("ParamOut");
  const auto moment1_out = context.output<T>("Moment1Out");
  const auto moment2_out = context.output<T>("Moment2Out");
  const cpu::AdamFactors<T> fixed{T(0), static_cast<T>(context.attr<double>("beta1")),
                                  static_cast<T>(context.attr<double>("beta2")),
                                  static_cast<T>(context.attr<double>("epsilon"))};
  return [=, size = param.size()] {
    cpu::AdamFactors<T> factors = fixed;
    factors.rate = *rate.data() * std::sqrt(T(1) - *beta2_pow.data()) / (T(1) - *beta1_pow.data());
    cpu::adam(size, factors, param.data(), grad.data(), moment1.data(), moment2.data(),
              param_out.data(), moment1_out.data(), moment2_out.data());
  };
}

constexpr const char* kParamDoc = "the parameter, any shape, floating";
constexpr const char* kGradDoc = "gradient of the loss, shape of Param";
constexpr const char* kRateDoc = "[1], dtype of Param";
constexpr const char* kParamOutDoc = "the updated parameter, usually the same variable as Param";
constexpr const char* kStateOutDoc = "the updated state, usually the same variable as the input";

void add_sgd(OpRegistry& registry) {
  registry.add(
      OpDef("sgd")
          .doc("ParamOut = Param - LearningRate Grad.")
          .input("Param", kParamDoc)
          .input("LearningRate", kRateDoc)
          .input("Grad", kGradDoc)
          .output("ParamOut", kParamOutDoc)
          .infer([](InferContext& context) { infer_update(context, {}, {"LearningRate"}); })
          .in_place("Param", "ParamOut")
          .kernels(cpu_kernels<float, double>(
              [](auto tag) -> KernelFactory { return sgd<typename decltype(tag)::type>; }))
          .not_differentiable());
}

void add_momentum(OpRegistry& registry) {
  registry.add(OpDef("momentum")
                   .doc("VelocityOut = mu Velocity + Grad; ParamOut = Param - LearningRate "
                        "VelocityOut, or, with "
                        "use_nesterov, Param - LearningRate (Grad + mu VelocityOut).")
                   .input("Param", kParamDoc)
                   .input("Grad", kGradDoc)
                   .input("Velocity", "shape of Param; zeros before the first step")
                   .input("LearningRate", kRateDoc)
                   .output("ParamOut", kParamOutDoc)
                   .output("VelocityOut", kStateOutDoc)
                   .required_attr("mu", 0.9, "how much of the velocity is kept")
                   .attr("use_nesterov", false, "look ahead by one step of the velocity")
                   .infer([](InferContext& context) {
                     infer_update(context, {"Velocity"}, {"LearningRate"});
                   })
                   .in_place("Param", "ParamOut")
                   .in_place("Velocity", "VelocityOut")
                   .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
                     return momentum<typename decltype(tag)::type>;
                   }))
                   .not_differentiable());
}

void add_adam(OpRegistry& registry) {
  registry.add(
      OpDef("adam")
          .doc("Moment1Out = beta1 Moment1 + (1 - beta1) Grad; Moment2Out = beta2 Moment2 + (1 - "
               "beta2) "
               "Grad^2; ParamOut = Param - rate Moment1Out / (sqrt(Moment2Out) + epsilon) with "
               "rate = "
               "LearningRate sqrt(1 - Beta2Pow) / (1 - Beta1Pow).")
          .input("Param", kParamDoc)
          .input("Grad", kGradDoc)
          .input("LearningRate", kRateDoc)
          .input("Moment1", "shape of Param; zeros before the first step")
          .input("Moment2", "shape of Param; zeros before the first step")
          .input("Beta1Pow",
                 "[1], dtype of Param: beta1 to the power of the number of this step, from 1")
          .input("Beta2Pow",
                 "[1], dtype of Param: beta2 to the power of the number of this step, from 1")
          .output("ParamOut", kParamOutDoc)
          .output("Moment1Out", kStateOutDoc)
          .output("Moment2Out", kStateOutDoc)
          .attr("beta1", 0.9, "how much of the mean of the gradients is kept")
          .attr("beta2", 0.999, "how much of the mean of their squares is kept")
          .attr("epsilon", 1.0e-8, "keeps the divisor above 0")
          .infer([](InferContext& context) {
            infer_update(context, {"Moment1", "Moment2"}, {"LearningRate", "Beta1Pow", "Beta2Pow"});
          })
          .in_place("Param", "ParamOut")
          .in_place("Moment1", "Moment1Out")
          .in_place("Moment2", "Moment2Out")
          .kernels(cpu_kernels<float, double>(
              [](auto tag) -> KernelFactory { return adam<typename decltype(tag)::type>; }))
          .not_differentiable());
}

}  // namespace

void register_optimizer_ops(OpRegistry& registry) {
  add_sgd(registry);
  add_momentum(registry);
  add_adam(registry);
}

}  // namespace fluidcore
