#include <array>
#include <utility>

#include "fluidcore/kernels/loss_functors.h"
#include "fluidcore/ops/element_loss.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// dout where x > 0, else 0.
Expr where_positive(const Expr& x, const Expr& dout) {
  return x.owner().op("relu_grad", {{"Out", x}, {"Out@GRAD", dout}}, {}, "X@GRAD");
}

Expr clipped(const Expr& x, double min, double max) {
  return x.owner().op("clip", {{"X", x}}, {{"min", min}, {"max", max}});
}

Expr log(const Expr& x) {
  return x.owner().op("log", {{"X", x}});
}

constexpr const char* kSameShape = "shape and dtype of the first input";
constexpr const char* kBinaryLabel = "0 or 1, shape and dtype of the other input";

struct Hinge : LossWithoutAttributes {
  static constexpr LossText kText{
      "hinge_loss", "Loss = max(1 - (2 Labels - 1) Logits, 0), element by element.",
      "Where Loss > 0, Logits@GRAD = (1 - 2 Labels) Loss@GRAD and Labels@GRAD = -2 Logits "
      "Loss@GRAD, else 0."};
  static constexpr std::array kInputs{SlotText{"Logits", "any shape, floating"},
                                      SlotText{"Labels", kBinaryLabel}};
  static constexpr std::array kOutputs{SlotText{"Loss", kSameShape}};
  using Values = Formulas<HingeLoss>;
  using Grads = Formulas<HingeLossGradLogits, HingeLossGradLabels>;
  static void decompose(Decomposition& d) {
    const Expr logits = d.input("Logits");
    const Expr sign = 2.0 * d.input("Labels") - 1.0;
    const Expr active = where_positive(1.0 - sign * logits, d.input("Loss@GRAD"));
    d.set("Logits@GRAD", -sign * active);
    d.set("Labels@GRAD", -2.0 * logits * active);
  }
};

struct Huber {
  static constexpr LossText kText{
      "huber_loss",
      "Residual = Y - X; Out = Residual^2 / 2 where |Residual| <= delta, else delta (|Residual| - "
      "delta / 2), element by element.",
      "Y@GRAD = min(max(Y - X, -delta), delta) Out@GRAD, X@GRAD = -Y@GRAD."};
  static constexpr const char* kAttr = "delta";
  static constexpr std::array kInputs{SlotText{"X", "any shape, floating"},
                                      SlotText{"Y", "shape and dtype of X"}};
  static constexpr std::array kOutputs{SlotText{"Out", kSameShape},
                                       SlotText{"Residual", kSameShape}};
  using Values = Formulas<HuberLoss, HuberResidual>;
  using Grads = Formulas<HuberLossGradX, HuberLossGradY>;
  static OpDef with_attrs(OpDef def) {
    return std::move(def).required_attr("delta", 1.0, "where the parabola turns into a line");
  }
  static void check(const InferContext& context) { require_not_negative(context, {kAttr}); }
  static void decompose(Decomposition& d) {
    const double delta = d.attr<double>(kAttr);
    const Expr grad = clipped(d.input("Y") - d.input("X"), -delta, delta) * d.input("Out@GRAD");
    d.set("X@GRAD", -grad);
    d.set("Y@GRAD", 1.0 * grad);
  }
};

struct NegativeLog {
  static constexpr LossText kText{
      "log_loss",
      "Loss = -Labels log(Predicted + epsilon) - (1 - Labels) log(1 - Predicted + epsilon), "
      "element "
      "by element.",
      "Predicted@GRAD = ((1 - Labels) / (1 - Predicted + epsilon) - Labels / (Predicted + "
      "epsilon)) "
      "Loss@GRAD, Labels@GRAD = (log(1 - Predicted + epsilon) - log(Predicted + epsilon)) "
      "Loss@GRAD."};
  static constexpr const char* kAttr = "epsilon";
  static constexpr std::array kInputs{SlotText{"Predicted", "probabilities, any shape, floating"},
                                      SlotText{"Labels", kBinaryLabel}};
  static constexpr std::array kOutputs{SlotText{"Loss", kSameShape}};
  using Values = Formulas<LogLoss>;
  using Grads = Formulas<LogLossGradPredicted, LogLossGradLabels>;
  static OpDef with_attrs(OpDef def) {
    return std::move(def).required_attr("epsilon", 1e-4, "keeps the logarithms finite");
  }
  static void check(const InferContext& context) { require_not_negative(context, {kAttr}); }
  static void decompose(Decomposition& d) {
    const double epsilon = d.attr<double>(kAttr);
    const Expr p = d.input("Predicted") + epsilon;
    const Expr q = (1.0 + epsilon) - d.input("Predicted");
    const Expr label = d.input("Labels");
    const Expr dloss = d.input("Loss@GRAD");
    d.set("Predicted@GRAD", dloss * ((1.0 - label) / q - label / p));
    d.set("Labels@GRAD", dloss * (log(q) - log(p)));
  }
};

struct MarginRank {
  static constexpr LossText kText{
      "margin_rank_loss",
      "Out = max(margin - Label (X1 - X2), 0), element by element; Activated = 1 where that is "
      "above 0, else 0.",
      "X1@GRAD = -Label Out@GRAD, X2@GRAD = Label Out@GRAD, Label@GRAD = (X2 - X1) Out@GRAD where "
      "margin - Label (X1 - X2) > 0, else 0."};
  static constexpr const char* kAttr = "margin";
  static constexpr std::array kInputs{
      SlotText{"X1", "scores, any shape, floating"}, SlotText{"X2", "shape and dtype of X1"},
      SlotText{"Label", "1 where X1 should be above X2, -1 where below; shape and dtype of X1"}};
  static constexpr std::array kOutputs{SlotText{"Out", kSameShape},
                                       SlotText{"Activated", kSameShape}};
  using Values = Formulas<MarginRankLoss, MarginRankActivated>;
  using Grads = Formulas<MarginRankLossGradX1, MarginRankLossGradX2, MarginRankLossGradLabel>;
  static OpDef with_attrs(OpDef def) {
    return std::move(def).attr("margin", 0.0, "by how much the scores should differ");
  }
  static void check(const InferContext& /*context*/) {}
  static void decompose(Decomposition& d) {
    const Expr label = d.input("Label");
    const Expr difference = d.input("X1") - d.input("X2");
    const Expr before_limit = d.attr<double>(kAttr) - label * difference;
    const Expr active = where_positive(before_limit, d.input("Out@GRAD"));
    d.set("X1@GRAD", -label * active);
    d.set("X2@GRAD", label * active);
    d.set("Label@GRAD", -difference * active);
  }
};

struct ModifiedHuber : LossWithoutAttributes {
  static constexpr LossText kText{
      "modified_huber_loss",
      "With IntermediateVal z = (2 Y - 1) X, Out = -4 z where z < -1, (1 - z)^2 where -1 <= z < 1, "
      "else 0.",
      "With the derivative s = -2 min(max(1 - z, 0), 2) at z = (2 Y - 1) X, X@GRAD = s (2 Y - 1) "
      "Out@GRAD, Y@GRAD = 2 s X Out@GRAD."};
  static constexpr std::array kInputs{SlotText{"X", "scores, any shape, floating"},
                                      SlotText{"Y", kBinaryLabel}};
  static constexpr std::array kOutputs{SlotText{"Out", kSameShape},
                                       SlotText{"IntermediateVal", kSameShape}};
  using Values = Formulas<ModifiedHuberLoss, SignedPrediction>;
  using Grads = Formulas<ModifiedHuberLossGradX, ModifiedHuberLossGradY>;
  static void decompose(Decomposition& d) {
    const Expr x = d.input("X");
    const Expr sign = 2.0 * d.input("Y") - 1.0;
    const Expr slope = d.input("Out@GRAD") * (-2.0 * clipped(1.0 - sign * x, 0.0, 2.0));
    d.set("X@GRAD", slope * sign);
    d.set("Y@GRAD", 2.0 * x * slope);
  }
};

struct Rank : LossWithoutAttributes {
  static constexpr LossText kText{
      "rank_loss",
      "Out = log(1 + exp(Left - Right)) - Label (Left - Right), element by element (RankNet). Does "
      "not overflow.",
      "Left@GRAD = (1 / (1 + exp(Right - Left)) - Label) Out@GRAD, Right@GRAD = -Left@GRAD, "
      "Label@GRAD = (Right - Left) Out@GRAD."};
  static constexpr std::array kInputs{
      SlotText{"Label", "the probability that Left ranks above Right, any shape, floating"},
      SlotText{"Left", "scores, shape and dtype of Label"},
      SlotText{"Right", "scores, shape and dtype of Label"}};
  static constexpr std::array kOutputs{SlotText{"Out", kSameShape}};
  using Values = Formulas<RankLoss>;
  using Grads = Formulas<RankLossGradLabel, RankLossGradLeft, RankLossGradRight>;
  static void decompose(Decomposition& d) {
    const Expr difference = d.input("Left") - d.input("Right");
    const Expr dout = d.input("Out@GRAD");
    const Expr grad = (d.op("sigmoid", {{"X", difference}}) - d.input("Label")) * dout;
    d.set("Label@GRAD", -difference * dout);
    d.set("Left@GRAD", 1.0 * grad);
    d.set("Right@GRAD", -grad);
  }
};

struct SigmoidCrossEntropyWithLogits : LossWithoutAttributes {
  static constexpr LossText kText{
      "sigmoid_cross_entropy_with_logits",
      "Out = -Label log(p) - (1 - Label) log(1 - p) with p = 1 / (1 + exp(-X)), element by "
      "element, "
      "as max(X, 0) - X Label + log(1 + exp(-|X|)), which does not overflow.",
      "X@GRAD = (1 / (1 + exp(-X)) - Label) Out@GRAD, Label@GRAD = -X Out@GRAD."};
  static constexpr std::array kInputs{SlotText{"X", "logits, any shape, floating"},
                                      SlotText{"Label", "probabilities, shape and dtype of X"}};
  static constexpr std::array kOutputs{SlotText{"Out", kSameShape}};
  using Values = Formulas<SigmoidCrossEntropy>;
  using Grads = Formulas<SigmoidCrossEntropyGradX, SigmoidCrossEntropyGradLabel>;
  static void decompose(Decomposition& d) {
    const Expr x = d.input("X");
    const Expr dout = d.input("Out@GRAD");
    d.set("X@GRAD", (d.op("sigmoid", {{"X", x}}) - d.input("Label")) * dout);
    d.set("Label@GRAD", -x * dout);
  }
};

struct KlDivergence : LossWithoutAttributes {
  static constexpr LossText kText{
      "kl_div",
      "Loss = Target (log(Target) - X), element by element, 0 for a Target of 0: what its sum over "
      "a distribution loses by believing exp(X) (Kullback and Leibler).",
      "X@GRAD = -Target Loss@GRAD, Target@GRAD = (log(Target) + 1 - X) Loss@GRAD, 0 for a Target "
      "of "
      "0."};
  static constexpr std::array kInputs{
      SlotText{"X", "logarithms of probabilities, any shape, floating"},
      SlotText{"Target", "probabilities, shape and dtype of X"}};
  static constexpr std::array kOutputs{SlotText{"Loss", kSameShape}};
  using Values = Formulas<KlDiv>;
  using Grads = Formulas<KlDivGradX, KlDivGradTarget>;
  static void decompose(Decomposition& d) {
    const Expr target = d.input("Target");
    const Expr present = where_positive(target, d.input("Loss@GRAD"));
    const Expr positive =
        where_positive(target, target) + (1.0 - where_positive(target, d.filled_like(target, 1.0)));
    d.set("X@GRAD", -target * present);
    d.set("Target@GRAD", (log(positive) + 1.0 - d.input("X")) * present);
  }
};

}  // namespace

void register_element_loss_ops(OpRegistry& registry) {
  add_element_loss<Hinge>(registry);
  add_element_loss<Huber>(registry);
  add_element_loss<KlDivergence>(registry);
  add_element_loss<NegativeLog>(registry);
  add_element_loss<MarginRank>(registry);
  add_element_loss<ModifiedHuber>(registry);
  add_element_loss<Rank>(registry);
  add_element_loss<SigmoidCrossEntropyWithLogits>(registry);
}

}  // namespace fluidcore
