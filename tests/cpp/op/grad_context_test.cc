#include "fluidcore/op/grad_context.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(GradContext, NamesTheGradientsOfEachVariableOfASlot) {
  const OpDesc op("sum", {{"X", {"a", "b"}}}, {{"Out", {"c", std::string(kEmptyName)}}});
  const std::set<std::string> no_grad = {"b"};
  GradContext context(op, no_grad);
  EXPECT_THAT(context.output_grad("Out"), ElementsAre("c@GRAD", kEmptyName));
  EXPECT_THAT(context.input_grad("X"), ElementsAre("a@GRAD", kEmptyName));
  EXPECT_THAT(context.grad_to_var(), UnorderedElementsAre(Pair("a@GRAD", "a")));
}

TEST(GradContext, TakesTheNameOfAGradientThatIsAnInputForThatInput) {
  const OpDesc op("tanh_grad", {{"Out", {"y"}}, {"Out@GRAD", {"y@GRAD"}}},
                  {{"X@GRAD", {"x@GRAD"}}});
  const std::set<std::string> no_grad = {"y@GRAD"};
  const GradContext context(op, no_grad);
  EXPECT_TRUE(context.wants("y"));
  EXPECT_FALSE(context.wants("y@GRAD"));
  const OpDesc forward("tanh", {{"X", {"x"}}}, {{"Out", {"y"}}});
  const std::set<std::string> by_gradient = {"x@GRAD"};
  EXPECT_FALSE(GradContext(forward, by_gradient).wants("x"));
}

TEST(StandardGrad, LeavesOutInputsThatWereNotGiven) {
  const OpDesc op("conv", {{"X", {"x"}}, {"W", {"w"}}}, {{"Out", {"y"}}});
  const std::set<std::string> no_grad;
  GradContext context(op, no_grad);
  const GradMaker maker = standard_grad(
      {.inputs = {"X", "W", "Bias"}, .outputs = {"Out"}, .differentiable = {"X", "W", "Bias"}});
  const std::vector<OpDesc> ops = maker(context);
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(to_string(ops[0]),
            "conv_grad(Out=y, Out@GRAD=y@GRAD, W=w, X=x) -> W@GRAD=w@GRAD, X@GRAD=x@GRAD");
}

TEST(StandardGrad, TakesTheGradientsOfTheNamedOutputs) {
  const OpDesc op("split", {{"X", {"x"}}}, {{"Out", {"a", "b"}}, {"Mask", {"m"}}});
  const std::set<std::string> no_grad;
  GradContext context(op, no_grad);
  const GradMaker maker = standard_grad({.differentiable = {"X"}, .cotangents = {"Out"}});
  EXPECT_EQ(to_string(maker(context)[0]), "split_grad(Out@GRAD=[a@GRAD, b@GRAD]) -> X@GRAD=x@GRAD");
}

}  // namespace
}  // namespace fluidcore
