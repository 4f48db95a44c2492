#include <array>

#include "fluidcore/kernels/update_rules.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/update.h"

namespace fluidcore {

namespace {

struct Adagrad {
  static constexpr std::array kState{StateSlot{"Moment", "MomentOut"}};
  static constexpr std::array kScalars{kLearningRate};
  static void check(const InferContext& context) { require_not_negative(context, {"epsilon"}); }
  static WithRate<AdagradRule> rule(const KernelContext& context) {
    return {{.rate = 0.0, .epsilon = context.attr<double>("epsilon")}};
  }
};

struct DecayedAdagrad {
  static constexpr std::array kState{StateSlot{"Moment", "MomentOut"}};
  static constexpr std::array kScalars{kLearningRate};
  static void check(const InferContext& context) {
    require_share(context, {"decay"});
    require_not_negative(context, {"epsilon"});
  }
  static WithRate<DecayedAdagradRule> rule(const KernelContext& context) {
    return {{.rate = 0.0,
             .decay = context.attr<double>("decay"),
             .epsilon = context.attr<double>("epsilon")}};
  }
};

struct Adadelta {
  static constexpr std::array kState{StateSlot{"AvgSquaredGrad", "AvgSquaredGradOut"},
                                     StateSlot{"AvgSquaredUpdate", "AvgSquaredUpdateOut"}};
  static constexpr std::array<ScalarSlot, 0> kScalars{};
  static void check(const InferContext& context) {
    require_share(context, {"rho"});
    require_not_negative(context, {"epsilon"});
  }
  static WithoutRate<AdadeltaRule> rule(const KernelContext& context) {
    return {{.rho = context.attr<double>("rho"), .epsilon = context.attr<double>("epsilon")}};
  }
};

struct Rmsprop {
  static constexpr std::array kState{StateSlot{"MeanSquare", "MeanSquareOut"},
                                     StateSlot{"Moment", "MomentOut"}};
  static constexpr std::array kScalars{kLearningRate};
  static void check(const InferContext& context) {
    require_share(context, {"decay"});
    require_not_negative(context, {"epsilon"});
  }
  static WithRate<RmspropRule> rule(const KernelContext& context) {
    return {{.rate = 0.0,
             .decay = context.attr<double>("decay"),
             .epsilon = context.attr<double>("epsilon"),
             .momentum = context.attr<double>("momentum")}};
  }
};

struct Ftrl {
  static constexpr std::array kState{StateSlot{"SquaredAccumulator", "SquaredAccumOut"},
                                     StateSlot{"LinearAccumulator", "LinearAccumOut"}};
  static constexpr std::array kScalars{kLearningRate};
  static void check(const InferContext& context) { require_not_negative(context, {"l1", "l2"}); }
  static WithRate<FtrlRule> rule(const KernelContext& context) {
    return {{.rate = 0.0,
             .l1 = context.attr<double>("l1"),
             .l2 = context.attr<double>("l2"),
             .lr_power = context.attr<double>("lr_power")}};
  }
};

template <class Rule>
struct Proximal {
  static constexpr std::array kScalars{kLearningRate};
  static void check(const InferContext& context) { require_not_negative(context, {"l1", "l2"}); }
  static WithRate<Rule> rule(const KernelContext& context) {
    return {{.rate = 0.0, .l1 = context.attr<double>("l1"), .l2 = context.attr<double>("l2")}};
  }
};

struct ProximalGd : Proximal<ProximalGdRule> {
  static constexpr std::array<StateSlot, 0> kState{};
};

struct ProximalAdagrad : Proximal<ProximalAdagradRule> {
  static constexpr std::array kState{StateSlot{"Moment", "MomentOut"}};
};

constexpr const char* kEpsilonDoc = "keeps the divisor above 0";
constexpr const char* kShrinking =
    "ParamOut = sign(prox) max(|prox| - LearningRate l1, 0) / (1 + LearningRate l2)";

OpDef with_penalties(OpDef def) {
  return std::move(def)
      .attr("l1", 0.0, "how much of the sum of |Param| is added to the loss")
      .attr("l2", 0.0, "how much of half of the sum of Param^2 is added to the loss");
}

}  // namespace

void register_adaptive_optimizer_ops(OpRegistry& registry) {
  registry.add(update_op<Adagrad>("adagrad",
                                  "MomentOut = Moment + Grad^2; ParamOut = Param - LearningRate "
                                  "Grad / (sqrt(MomentOut) + epsilon).")
                   .attr("epsilon", 1.0e-6, kEpsilonDoc));
  registry.add(
      update_op<DecayedAdagrad>("decayed_adagrad",
                                "MomentOut = decay Moment + (1 - decay) Grad^2; ParamOut = Param - "
                                "LearningRate Grad / (sqrt(MomentOut) + epsilon).")
          .attr("decay", 0.95, "how much of the mean of squared gradients is kept")
          .attr("epsilon", 1.0e-6, kEpsilonDoc));
  registry.add(
      update_op<Adadelta>(
          "adadelta",
          "AvgSquaredGradOut = rho AvgSquaredGrad + (1 - rho) Grad^2; update = "
          "-sqrt((AvgSquaredUpdate + epsilon) / (AvgSquaredGradOut + epsilon)) Grad; "
          "AvgSquaredUpdateOut = rho AvgSquaredUpdate + (1 - rho) update^2; ParamOut = Param + "
          "update. There is no learning rate.")
          .attr("rho", 0.95, "how much of the means of squares is kept")
          .attr("epsilon", 1.0e-6, "keeps the divisor, and the first update, above 0"));
  registry.add(
      update_op<Rmsprop>("rmsprop",
                         "MeanSquareOut = decay MeanSquare + (1 - decay) Grad^2; MomentOut = "
                         "momentum Moment + LearningRate Grad / sqrt(MeanSquareOut + epsilon); "
                         "ParamOut = Param - MomentOut.")
          .attr("epsilon", 1.0e-10, kEpsilonDoc)
          .attr("decay", 0.9, "how much of the mean of squared gradients is kept")
          .attr("momentum", 0.0, "how much of the last update is added"));
  registry.add(
      update_op<Ftrl>(
          "ftrl",
          "Follow the regularized leader (McMahan et al. 2013). SquaredAccumOut = "
          "SquaredAccumulator + Grad^2; with power(x) = x^-lr_power, LinearAccumOut = "
          "LinearAccumulator + Grad - (power(SquaredAccumOut) - power(SquaredAccumulator)) / "
          "LearningRate Param; ParamOut = (sign(LinearAccumOut) l1 - LinearAccumOut) / "
          "(power(SquaredAccumOut) / LearningRate + 2 l2) where |LinearAccumOut| > l1, else 0.")
          .attr("l1", 0.0, "how much of the sum of |Param| is added to the loss")
          .attr("l2", 0.0, "how much of the sum of Param^2 is added to the loss")
          .attr("lr_power", -0.5, "the power of the accumulator by which the rate falls"));
  registry.add(with_penalties(update_op<ProximalGd>(
      "proximal_gd", str_cat("prox = Param - LearningRate Grad; ", kShrinking, "."))));
  registry.add(with_penalties(update_op<ProximalAdagrad>(
      "proximal_adagrad",
      str_cat("MomentOut = Moment + Grad^2; prox = Param - LearningRate Grad / sqrt(MomentOut), or "
              "Param where Grad is 0; ",
              kShrinking, "."))));
}

}  // namespace fluidcore
