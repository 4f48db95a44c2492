#include "fluidcore/op/decomposition.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/op/op_registry.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::string kEmpty(kEmptyName);

OpDef binary(const std::string& type) {
  return OpDef(type).input("X", "").input("Y", "").output("Out", "").grad(
      standard_grad({.inputs = {"X", "Y"}, .differentiable = {"X", "Y"}}));
}

OpDef unary(const std::string& type) {
  return OpDef(type).input("X", "").output("Out", "").grad(
      standard_grad({.inputs = {"X"}, .differentiable = {"X"}}));
}

// A gradient operator that stands for `decompose`.
OpDef decomposed(Decompose decompose) {
  return OpDef("f_grad")
      .input("X", "")
      .input("Out@GRAD", "")
      .output("X@GRAD", "")
      .output("W@GRAD", "", {.optional = true})
      .attr("factor", 2.0, "")
      .decompose(std::move(decompose));
}

OpRegistry registry_with(Decompose decompose) {
  OpRegistry registry;
  for (const char* type : {"elementwise_add", "elementwise_sub", "elementwise_mul"}) {
    registry.add(binary(type));
  }
  registry.add(unary("square"));
  registry.add(unary("assign"));
  registry.add(unary("scale").attr("scale", 1.0, ""));
  registry.add(unary("sign").not_differentiable());
  registry.add(OpDef("fill_any_like")
                   .input("X", "")
                   .output("Out", "")
                   .attr("value", 0.0, "")
                   .not_differentiable());
  registry.add(OpDef("like")
                   .input("X", "", {.shape_only = true})
                   .input("Y", "")
                   .output("Out", "")
                   .output("Other", "")
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"Y"}})));
  registry.add(OpDef("halves")
                   .input("X", "")
                   .output("Low", "")
                   .output("High", "")
                   .grad(standard_grad({.differentiable = {"X"}, .cotangents = {"Low", "High"}})));
  registry.add(decomposed(std::move(decompose)));
  return registry;
}

OpDesc f_grad(const std::string& x_grad = "x@GRAD", const std::string& w_grad = kEmpty) {
  return OpDesc("f_grad", {{"X", {"x"}}, {"Out@GRAD", {"y@GRAD"}}},
                {{"X@GRAD", {x_grad}}, {"W@GRAD", {w_grad}}}, {{"factor", 2.0}});
}

std::vector<std::string> lines(const std::vector<OpDesc>& ops) {
  std::vector<std::string> text;
  for (const OpDesc& op : ops) text.push_back(to_string(op));
  return text;
}

std::vector<std::string> steps_of(const Decompose& decompose) {
  const OpRegistry registry = registry_with(nullptr);
  const OpDesc op = f_grad();
  Decomposition decomposition(registry, op);
  decompose(decomposition);
  std::vector<std::string> text;
  for (const auto& step : decomposition.steps()) text.push_back(to_string(step.op));
  return text;
}

std::vector<std::string> grads_of(const Decompose& decompose,
                                  const OpDesc& op = f_grad(),
                                  const std::set<std::string>& no_grad = {}) {
  const OpRegistry registry = registry_with(decompose);
  GradContext context(op, no_grad);
  return lines(registry.grad_ops(context));
}

TEST(Decomposition, WritesAnOperatorForEachExpressionAndNamesItsResultAfterTheOutput) {
  EXPECT_THAT(steps_of([](Decomposition& d) {
                const Expr x = d.input("X");
                d.set("X@GRAD", d.input("Out@GRAD") * (1.0 - square(x)));
              }),
              ElementsAre("square(X=x) -> Out=x@GRAD@PART@0",
                          "fill_any_like(X=x@GRAD@PART@0) -> Out=x@GRAD@PART@1   # value=1.0",
                          "elementwise_sub(X=x@GRAD@PART@1, Y=x@GRAD@PART@0) -> "
                          "Out=x@GRAD@PART@2",
                          "elementwise_mul(X=y@GRAD, Y=x@GRAD@PART@2) -> Out=x@GRAD@PART@3"));
}

TEST(Decomposition, ReadsTheAttributesOfTheOperator) {
  EXPECT_THAT(steps_of([](Decomposition& d) { (void)(d.attr<double>("factor") * d.input("X")); }),
              ElementsAre("scale(X=x) -> Out=x@GRAD@PART@0   # scale=2.0"));
}

TEST(Decomposition, LeavesOutTheOtherOutputsOfAnOperator) {
  EXPECT_THAT(steps_of([](Decomposition& d) {
                d.op("like", {{"X", d.input("X")}, {"Y", d.input("X")}}, {}, "Other");
              }),
              ElementsAre("like(X=x, Y=x) -> Other=x@GRAD@PART@0, Out=@EMPTY@"));
}

TEST(Decomposition, ChecksTheOperatorsThatItIsMadeOf) {
  EXPECT_THROW(steps_of([](Decomposition& d) { d.op("sqare", {{"X", d.input("X")}}); }), NotFound);
  EXPECT_THROW(steps_of([](Decomposition& d) { d.op("square", {}); }), InvalidArgument);
}

TEST(Decomposition, TakesOverARecordingUnderNamesOfItsOwn) {
  Decomposition::Recording recording;
  recording.steps.push_back({OpDesc("square", {{"X", {"X"}}}, {{"Out", {"a"}}}), true});
  recording.steps.push_back(
      {OpDesc("elementwise_mul", {{"X", {"Out@GRAD"}}, {"Y", {"a"}}}, {{"Out", {"b"}}}), false});
  recording.results = {{"X@GRAD", "b"}, {"W@GRAD", "a"}};
  const OpRegistry registry = registry_with(nullptr);
  const OpDesc op = f_grad();
  Decomposition decomposition(registry, op);
  decomposition.add(recording);
  std::vector<std::string> text;
  std::vector<bool> is_constant;
  for (const auto& step : decomposition.steps()) {
    text.push_back(to_string(step.op));
    is_constant.push_back(step.is_constant);
  }
  EXPECT_THAT(text, ElementsAre("square(X=x) -> Out=x@GRAD@PART@0",
                                "elementwise_mul(X=y@GRAD, Y=x@GRAD@PART@0) -> "
                                "Out=x@GRAD@PART@1"));
  EXPECT_THAT(is_constant, ElementsAre(true, false));
  EXPECT_THAT(decomposition.results(), ElementsAre(Pair("x@GRAD", "x@GRAD@PART@1")));
}

TEST(Decomposition, KnowsTheSpecsOfInputsThatItWasGiven) {
  const OpRegistry registry = registry_with(nullptr);
  const OpDesc op = f_grad();
  const SpecsByName specs = {{"x", {Shape({-1, 3}), DType::kFloat64}}};
  const Decomposition decomposition(registry, op, specs);
  EXPECT_EQ(decomposition.spec("X"), (TensorSpec{Shape({-1, 3}), DType::kFloat64}));
  EXPECT_THROW(decomposition.spec("Out@GRAD"), InvalidArgument);
}

TEST(GradOfADecomposition, CalculatesAgainWhatIsReadAndThenDifferentiatesInReverse) {
  EXPECT_THAT(
      grads_of(
          [](Decomposition& d) { d.set("X@GRAD", d.input("Out@GRAD") * square(d.input("X"))); }),
      ElementsAre("square(X=x) -> Out=x@GRAD@PART@0",
                  "elementwise_mul_grad(Out@GRAD=x@GRAD@GRAD, X=y@GRAD, Y=x@GRAD@PART@0) -> "
                  "X@GRAD=y@GRAD@GRAD, Y@GRAD=x@GRAD@PART@0@GRAD",
                  "square_grad(Out@GRAD=x@GRAD@PART@0@GRAD, X=x) -> X@GRAD=x@GRAD"));
}

TEST(GradOfADecomposition, IsZeroByAnOutputThatNothingReads) {
  EXPECT_THAT(
      grads_of([](Decomposition& d) {
        Decomposition::Recording recording;
        recording.steps.push_back(
            {OpDesc("halves", {{"X", {"X"}}}, {{"Low", {"a"}}, {"High", {"b"}}}), false});
        recording.results = {{"X@GRAD", "b"}};
        d.add(recording);
      }),
      ElementsAre("halves(X=x) -> High=x@GRAD@PART@0, Low=x@GRAD@PART@0@1",
                  "fill_any_like(X=x@GRAD@PART@0@1) -> Out=x@GRAD@PART@0@1@GRAD   # value=0.0",
                  "halves_grad(High@GRAD=x@GRAD@GRAD, Low@GRAD=x@GRAD@PART@0@1@GRAD) -> "
                  "X@GRAD=x@GRAD"));
}

TEST(GradOfADecomposition, FollowsOnlyPathsToGradientsThatAreWanted) {
  const Decompose decompose = [](Decomposition& d) {
    d.set("X@GRAD", d.input("Out@GRAD") * square(d.input("X")));
  };
  EXPECT_THAT(grads_of(decompose, f_grad(), {"x"}),
              ElementsAre("square(X=x) -> Out=x@GRAD@PART@0",
                          "elementwise_mul_grad(Out@GRAD=x@GRAD@GRAD, X=y@GRAD, "
                          "Y=x@GRAD@PART@0) -> X@GRAD=y@GRAD@GRAD, Y@GRAD=@EMPTY@"));
  EXPECT_THAT(grads_of(decompose, f_grad(), {"x", "y@GRAD"}), IsEmpty());
}

TEST(GradOfADecomposition, OfAnOutputThatIsNotWantedIsLeftOut) {
  const Decompose decompose = [](Decomposition& d) {
    d.set("X@GRAD", square(d.input("X")));
    d.set("W@GRAD", square(d.input("Out@GRAD")));
  };
  EXPECT_THAT(grads_of(decompose, f_grad("x@GRAD", kEmpty)),
              ElementsAre("square_grad(Out@GRAD=x@GRAD@GRAD, X=x) -> X@GRAD=x@GRAD"));
  EXPECT_THAT(grads_of(decompose, f_grad(kEmpty, "w@GRAD")),
              ElementsAre("square_grad(Out@GRAD=w@GRAD@GRAD, X=y@GRAD) -> X@GRAD=y@GRAD@GRAD"));
  EXPECT_THAT(grads_of(decompose, f_grad(kEmpty, kEmpty)), IsEmpty());
}

TEST(GradOfADecomposition, DoesNotPassConstants) {
  EXPECT_THAT(grads_of([](Decomposition& d) {
                const Expr constant = d.constant("square", {{"X", d.input("X")}});
                const Expr sign = d.op("sign", {{"X", d.input("X")}});
                d.set("X@GRAD", constant * sign);
              }),
              IsEmpty());
}

TEST(GradOfADecomposition, DoesNotFollowInputsThatAreReadForTheirShape) {
  const Decompose decompose = [](Decomposition& d) {
    d.set("X@GRAD", d.op("like", {{"X", square(d.input("X"))}, {"Y", d.input("Out@GRAD")}}));
  };
  EXPECT_THAT(grads_of(decompose), ElementsAre("square(X=x) -> Out=x@GRAD@PART@0",
                                               "like_grad(Out@GRAD=x@GRAD@GRAD, "
                                               "X=x@GRAD@PART@0) -> Y@GRAD=y@GRAD@GRAD"));
  EXPECT_THAT(grads_of(decompose, f_grad(), {"y@GRAD"}), IsEmpty());
}

TEST(GradOfADecomposition, OfAResultThatIsReadAgainStartsWithACopy) {
  EXPECT_THAT(grads_of(
                  [](Decomposition& d) {
                    const Expr w = square(d.input("X"));
                    d.set("W@GRAD", w);
                    d.set("X@GRAD", square(w));
                  },
                  f_grad("x@GRAD", "w@GRAD"), {"y@GRAD"}),
              ElementsAre("square(X=x) -> Out=w@GRAD@PART@0",
                          "assign(X=w@GRAD@GRAD) -> Out=w@GRAD@PART@0@GRAD",
                          "square_grad(Out@GRAD=x@GRAD@GRAD, X=w@GRAD@PART@0) -> "
                          "X@GRAD=w@GRAD@PART@0@GRAD",
                          "square_grad(Out@GRAD=w@GRAD@PART@0@GRAD, X=x) -> X@GRAD=x@GRAD"));
}

TEST(GradOfADecomposition, OfAnInputThatIsPassedOnIsACopy) {
  EXPECT_THAT(grads_of([](Decomposition& d) { d.set("X@GRAD", d.input("Out@GRAD")); }),
              ElementsAre("assign(X=x@GRAD@GRAD) -> Out=y@GRAD@GRAD"));
}

TEST(GradOfADecomposition, NamesTheGradientsOfTheInputsAndWhereTheUserIs) {
  const OpRegistry registry = registry_with(
      [](Decomposition& d) { d.set("X@GRAD", d.input("Out@GRAD") * square(d.input("X"))); });
  OpDesc op = f_grad();
  op.set_call_site("train.py:41");
  const std::set<std::string> no_grad;
  GradContext context(op, no_grad);
  for (const OpDesc& grad : registry.grad_ops(context)) {
    EXPECT_EQ(grad.call_site(), "train.py:41");
  }
  EXPECT_THAT(context.grad_to_var(),
              UnorderedElementsAre(Pair("x@GRAD", "x"), Pair("y@GRAD@GRAD", "y@GRAD")));
}

TEST(GradOfADecomposition, IsNotUsedWhereThereIsAGradientMaker) {
  OpRegistry registry;
  registry.add(unary("f").decompose([](Decomposition& d) { d.set("Out", d.input("X")); }));
  const OpDesc op("f", {{"X", {"x"}}}, {{"Out", {"y"}}});
  const std::set<std::string> no_grad;
  GradContext context(op, no_grad);
  EXPECT_THAT(lines(registry.grad_ops(context)),
              ElementsAre("f_grad(Out@GRAD=y@GRAD, X=x) -> X@GRAD=x@GRAD"));
}

}  // namespace
}  // namespace fluidcore
