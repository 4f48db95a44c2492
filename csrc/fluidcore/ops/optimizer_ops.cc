#include <array>
#include <cmath>

#include "fluidcore/kernels/update_rules.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/update.h"

namespace fluidcore {

namespace {

struct Sgd {
  static constexpr std::array<StateSlot, 0> kState{};
  static constexpr std::array kScalars{kLearningRate};
  static void check(const InferContext& /*context*/) {}
  static WithRate<SgdRule> rule(const KernelContext& /*context*/) { return {}; }
};

struct Momentum {
  static constexpr std::array kState{StateSlot{"Velocity", "VelocityOut"}};
  static constexpr std::array kScalars{kLearningRate};
  static void check(const InferContext& /*context*/) {}
  static WithRate<MomentumRule> rule(const KernelContext& context) {
    return {{.rate = 0.0,
             .mu = context.attr<double>("mu"),
             .nesterov = context.attr<bool>("use_nesterov")}};
  }
};

// Where epsilon is added: to sqrt(Moment2Out) as it is, or when its bias is corrected.
template <class Context>
bool adds_epsilon_after(const Context& context) {
  return context.template attr<std::string>("epsilon_mode") == "after";
}

struct AdamOfStep {
  double beta1;
  double beta2;
  double epsilon;
  double decay;
  bool is_after;

  FC_HOST_DEVICE AdamRule operator()(double rate, double power1, double power2) const {
    const double bias2 = std::sqrt(1.0 - power2);
    return {rate * bias2 / (1.0 - power1), beta1, beta2, is_after ? epsilon * bias2 : epsilon,
            rate * decay};
  }
};

struct Adam {
  static constexpr std::array kState{StateSlot{"Moment1", "Moment1Out"},
                                     StateSlot{"Moment2", "Moment2Out"}};
  static constexpr std::array kScalars{kLearningRate, kBeta1Pow, kBeta2Pow};
  static void check(const InferContext& context) {
    require_share(context, {"beta1", "beta2"});
    require_not_negative(context, {"epsilon"});
    const auto& mode = context.attr<std::string>("epsilon_mode");
    require(mode == "before" || mode == "after", context.type(),
            ": epsilon_mode must be 'before' or 'after', got '", mode, "'");
  }
  static AdamOfStep rule_with_decay(const KernelContext& context, double decay) {
    return {context.attr<double>("beta1"), context.attr<double>("beta2"),
            context.attr<double>("epsilon"), decay, adds_epsilon_after(context)};
  }
  static AdamOfStep rule(const KernelContext& context) { return rule_with_decay(context, 0.0); }
};

struct Adamw : Adam {
  static void check(const InferContext& context) {
    Adam::check(context);
    require_not_negative(context, {"coeff"});
  }
  static AdamOfStep rule(const KernelContext& context) {
    return rule_with_decay(context, context.attr<double>("coeff"));
  }
};

struct Adamax {
  struct OfStep {
    double beta1;
    double beta2;
    double epsilon;

    FC_HOST_DEVICE AdamaxRule operator()(double rate, double power1) const {
      return {rate / (1.0 - power1), beta1, beta2, epsilon};
    }
  };
  static constexpr std::array kState{StateSlot{"Moment", "MomentOut"},
                                     StateSlot{"InfNorm", "InfNormOut"}};
  static constexpr std::array kScalars{kLearningRate, kBeta1Pow};
  static void check(const InferContext& context) {
    require_share(context, {"beta1", "beta2"});
    require_not_negative(context, {"epsilon"});
  }
  static OfStep rule(const KernelContext& context) {
    return {context.attr<double>("beta1"), context.attr<double>("beta2"),
            context.attr<double>("epsilon")};
  }
};

struct Nadam {
  struct OfStep {
    double beta1;
    double beta2;
    double epsilon;
    double decay;

    FC_HOST_DEVICE NadamRule operator()(double rate,
                                        double power,
                                        double product,
                                        double power2) const {
      const double mu = beta1 * (1.0 - 0.5 * power);
      const double next = beta1 * (1.0 - 0.5 * power * decay);
      return {rate * (1.0 - mu) / (1.0 - product),
              rate * next / (1.0 - product * next),
              beta1,
              beta2,
              1.0 - power2,
              epsilon};
    }
  };
  static constexpr std::array kState{StateSlot{"Moment1", "Moment1Out"},
                                     StateSlot{"Moment2", "Moment2Out"}};
  static constexpr std::array kScalars{
      kLearningRate,
      ScalarSlot{"DecayPow",
                 "[1], dtype of Param: 0.96^(momentum_decay step), the steps counted from 1"},
      ScalarSlot{"MuProduct",
                 "[1], dtype of Param: the product of mu over all steps, this one too"},
      kBeta2Pow};
  static void check(const InferContext& context) {
    require_share(context, {"beta1", "beta2"});
    require_not_negative(context, {"epsilon", "momentum_decay"});
  }
  static OfStep rule(const KernelContext& context) {
    return {context.attr<double>("beta1"), context.attr<double>("beta2"),
            context.attr<double>("epsilon"),
            std::pow(0.96, context.attr<double>("momentum_decay"))};
  }
};

struct Lion {
  static constexpr std::array kState{StateSlot{"Moment", "MomentOut"}};
  static constexpr std::array kScalars{kLearningRate};
  static void check(const InferContext& context) {
    require_share(context, {"beta1", "beta2"});
    require_not_negative(context, {"coeff"});
  }
  static WithRate<LionRule> rule(const KernelContext& context) {
    return {{.rate = 0.0,
             .beta1 = context.attr<double>("beta1"),
             .beta2 = context.attr<double>("beta2"),
             .decay = context.attr<double>("coeff")}};
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
  registry.add(update_op<Sgd>("sgd", "ParamOut = Param - LearningRate Grad."));
  registry.add(
      update_op<Momentum>("momentum",
                          "VelocityOut = mu Velocity + Grad; ParamOut = Param - LearningRate "
                          "VelocityOut, or, with use_nesterov, Param - LearningRate (Grad + mu "
                          "VelocityOut).")
          .required_attr("mu", 0.9, "how much of the velocity is kept")
          .attr("use_nesterov", false, "look ahead by one step of the velocity"));
  registry.add(with_adam_attrs(
      update_op<Adam>("adam",
                      "Moment1Out = beta1 Moment1 + (1 - beta1) Grad; Moment2Out = beta2 Moment2 + "
                      "(1 - beta2) Grad^2; ParamOut = Param - rate Moment1Out / (sqrt(Moment2Out) "
                      "+ epsilon) with rate = LearningRate sqrt(1 - Beta2Pow) / (1 - Beta1Pow)."),
      "before"));
  registry.add(
      with_adam_attrs(update_op<Adamw>("adamw",
                                       "As adam of (1 - LearningRate coeff) Param: the decay of "
                                       "weights takes no part in the moments."),
                      "after")
          .attr("coeff", 0.01, "the decay of weights, times the learning rate"));
  registry.add(update_op<Adamax>("adamax",
                                 "MomentOut = beta1 Moment + (1 - beta1) Grad; InfNormOut = "
                                 "max(|Grad|, beta2 InfNorm + epsilon); ParamOut = Param - "
                                 "LearningRate / (1 - Beta1Pow) MomentOut / InfNormOut.")
                   .attr("beta1", 0.9, "how much of the mean of the gradients is kept")
                   .attr("beta2", 0.999, "how much of the greatest gradient is kept")
                   .attr("epsilon", 1.0e-8, "keeps the divisor above 0"));
  registry.add(
      update_op<Nadam>(
          "nadam",
          "Adam with Nesterov's momentum (Dozat, Incorporating Nesterov Momentum into Adam, 2016). "
          "Moment1Out = beta1 Moment1 + (1 - beta1) Grad; Moment2Out = beta2 Moment2 + (1 - beta2) "
          "Grad^2; with mu = beta1 (1 - DecayPow / 2) and next, the mu of the next step, ParamOut "
          "= Param - LearningRate ((1 - mu) / (1 - MuProduct) Grad + next / (1 - MuProduct next) "
          "Moment1Out) / (sqrt(Moment2Out / (1 - Beta2Pow)) + epsilon).")
          .attr("beta1", 0.9, "how much of the mean of the gradients is kept")
          .attr("beta2", 0.999, "how much of the mean of their squares is kept")
          .attr("epsilon", 1.0e-8, "keeps the divisor above 0")
          .attr("momentum_decay", 0.004, "how fast mu grows from beta1 / 2 to beta1"));
  registry.add(update_op<Lion>(
                   "lion",
                   "Evolved sign momentum (Chen et al., Symbolic Discovery of Optimization "
                   "Algorithms, 2023). ParamOut = Param - LearningRate (sign(beta1 Moment + (1 - "
                   "beta1) Grad) + coeff Param); MomentOut = beta2 Moment + (1 - beta2) Grad.")
                   .attr("beta1", 0.9, "how much of the mean is in the sign of the step")
                   .attr("beta2", 0.99, "how much of the mean of the gradients is kept")
                   .attr("coeff", 0.0, "the decay of weights, times the learning rate"));
}

}  // namespace fluidcore
