#include <array>
#include <cmath>

#include "fluidcore/kernels/update_rules.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/update.h"

namespace fluidcore {

namespace {

constexpr ScalarSlot kBeta1Pow{
    "Beta1Pow",
    "[1], dtype of Param or float32: beta1 to the power of the number of this step, from 1"};
constexpr ScalarSlot kBeta2Pow{
    "Beta2Pow",
    "[1], dtype of Param or float32: beta2 to the power of the number of this step, from 1"};

struct Sgd {
  static constexpr std::array<StateSlot, 0> kState{};
  static void check(const InferContext& /*context*/) {}
  template <class T>
  static auto rule(const KernelContext& context) {
    return [rate = Scalar<T>(context, "LearningRate")] { return SgdRule{rate.value()}; };
  }
};

struct Momentum {
  static constexpr std::array kState{StateSlot{"Velocity", "VelocityOut"}};
  static void check(const InferContext& /*context*/) {}
  template <class T>
  static auto rule(const KernelContext& context) {
    return [rate = Scalar<T>(context, "LearningRate"), mu = context.attr<double>("mu"),
            nesterov = context.attr<bool>("use_nesterov")] {
      return MomentumRule{rate.value(), mu, nesterov};
    };
  }
};

// Where epsilon is added: to sqrt(Moment2Out) as it is, or when its bias is corrected.
template <class Context>
bool adds_epsilon_after(const Context& context) {
  return context.template attr<std::string>("epsilon_mode") == "after";
}

struct Adam {
  static constexpr std::array kState{StateSlot{"Moment1", "Moment1Out"},
                                     StateSlot{"Moment2", "Moment2Out"}};
  static void check(const InferContext& context) {
    require_share(context, {"beta1", "beta2"});
    require_not_negative(context, {"epsilon"});
    const auto& mode = context.attr<std::string>("epsilon_mode");
    require(mode == "before" || mode == "after", context.type(),
            ": epsilon_mode must be 'before' or 'after', got '", mode, "'");
  }
  template <class T>
  static auto rule_with_decay(const KernelContext& context, double decay) {
    return [rate = Scalar<T>(context, "LearningRate"), power1 = Scalar<T>(context, "Beta1Pow"),
            power2 = Scalar<T>(context, "Beta2Pow"), beta1 = context.attr<double>("beta1"),
            beta2 = context.attr<double>("beta2"), epsilon = context.attr<double>("epsilon"), decay,
            is_after = adds_epsilon_after(context)] {
      const double bias2 = std::sqrt(1.0 - power2.value());
      return AdamRule{rate.value() * bias2 / (1.0 - power1.value()), beta1, beta2,
                      is_after ? epsilon * bias2 : epsilon, rate.value() * decay};
    };
  }
  template <class T>
  static auto rule(const KernelContext& context) {
    return rule_with_decay<T>(context, 0.0);
  }
};

struct Adamw : Adam {
  static void check(const InferContext& context) {
    Adam::check(context);
    require_not_negative(context, {"coeff"});
  }
  template <class T>
  static auto rule(const KernelContext& context) {
    return rule_with_decay<T>(context, context.attr<double>("coeff"));
  }
};

struct Adamax {
  static constexpr std::array kState{StateSlot{"Moment", "MomentOut"},
                                     StateSlot{"InfNorm", "InfNormOut"}};
  static void check(const InferContext& context) {
    require_share(context, {"beta1", "beta2"});
    require_not_negative(context, {"epsilon"});
  }
  template <class T>
  static auto rule(const KernelContext& context) {
    return [rate = Scalar<T>(context, "LearningRate"), power1 = Scalar<T>(context, "Beta1Pow"),
            beta1 = context.attr<double>("beta1"), beta2 = context.attr<double>("beta2"),
            epsilon = context.attr<double>("epsilon")] {
      return AdamaxRule{rate.value() / (1.0 - power1.value()), beta1, beta2, epsilon};
    };
  }
};

OpDef with_adam_attrs(OpDef def, const char* mode) {
  return std::move(def)
      .attr("beta1", 0.9, "how much of the mean of the gradients is kept")
      .attr("beta2", 0.999, "how much of the mean of their squares is kept")
      .attr("epsilon", 1.0e-8, "keeps the divisor above 0")
      .attr("epsilon_mode", std::string(mode),
            "'before': epsilon is added to sqrt(Moment2Out), whose bias is corrected after that, "
            "as in Fluid; 'after': to the corrected root, as elsewhere, which takes epsilon "
            "sqrt(1 - Beta2Pow) in place of epsilon");
}

}  // namespace

void register_optimizer_ops(OpRegistry& registry) {
  registry.add(update_op<Sgd>("sgd", "ParamOut = Param - LearningRate Grad.", {kLearningRate}));
  registry.add(
      update_op<Momentum>("momentum",
                          "VelocityOut = mu Velocity + Grad; ParamOut = Param - LearningRate "
                          "VelocityOut, or, with use_nesterov, Param - LearningRate (Grad + mu "
                          "VelocityOut).",
                          {kLearningRate})
          .required_attr("mu", 0.9, "how much of the velocity is kept")
          .attr("use_nesterov", false, "look ahead by one step of the velocity"));
  registry.add(with_adam_attrs(
      update_op<Adam>("adam",
                      "Moment1Out = beta1 Moment1 + (1 - beta1) Grad; Moment2Out = beta2 Moment2 + "
                      "(1 - beta2) Grad^2; ParamOut = Param - rate Moment1Out / (sqrt(Moment2Out) "
                      "+ epsilon) with rate = LearningRate sqrt(1 - Beta2Pow) / (1 - Beta1Pow).",
                      {kLearningRate, kBeta1Pow, kBeta2Pow}),
      "before"));
  registry.add(
      with_adam_attrs(update_op<Adamw>("adamw",
                                       "As adam of (1 - LearningRate coeff) Param: the decay of "
                                       "weights takes no part in the moments.",
                                       {kLearningRate, kBeta1Pow, kBeta2Pow}),
                      "after")
          .attr("coeff", 0.01, "the decay of weights, times the learning rate"));
  registry.add(update_op<Adamax>("adamax",
                                 "MomentOut = beta1 Moment + (1 - beta1) Grad; InfNormOut = "
                                 "max(|Grad|, beta2 InfNorm + epsilon); ParamOut = Param - "
                                 "LearningRate / (1 - Beta1Pow) MomentOut / InfNormOut.",
                                 {kLearningRate, kBeta1Pow})
                   .attr("beta1", 0.9, "how much of the mean of the gradients is kept")
                   .attr("beta2", 0.999, "how much of the greatest gradient is kept")
                   .attr("epsilon", 1.0e-8, "keeps the divisor above 0"));
}

}  // namespace fluidcore
