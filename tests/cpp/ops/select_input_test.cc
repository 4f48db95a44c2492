#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/op/grad_context.h"
#include "fluidcore/ops/register_ops.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

class SelectInputTest : public ::testing::Test {
 protected:
  SelectInputTest() {
    runner_.feed("a", tensor_of({2}, {1, 2}));
    runner_.feed("b", tensor_of({2}, {3, 4}));
  }
  void select(std::int64_t mask) {
    runner_.feed_int("mask", mask);
    runner_.add(
        OpDesc("select_input", {{"X", {"a", "b"}}, {"Mask", {"mask"}}}, {{"Out", {"out"}}}));
  }

  ProgramRunner runner_;
};

TEST_F(SelectInputTest, GivesTheInputAtThePosition) {
  select(1);
  EXPECT_THAT(runner_.values("out"), ElementsAre(3, 4));
}

TEST_F(SelectInputTest, RefusesAPositionThatThereIsNot) {
  select(2);
  EXPECT_THAT([&] { runner_.values("out"); },
              ThrowsMessage<InvalidArgument>("select_input: Mask must be the position of one of X, "
                                             "in [0, 2), got 2"));
}

TEST_F(SelectInputTest, RefusesInputsThatAreNotAlike) {
  runner_.feed("b", tensor_of({3}, {3, 4, 5}));
  EXPECT_THAT([&] { select(0); },
              ThrowsMessage<InvalidArgument>("select_input: all of X must have one shape and dtype,"
                                             " got float64 [2] and, at position 1, float64 [3]"));
}

TEST_F(SelectInputTest, GivesTheGradientToTheInputThatWasChosen) {
  runner_.feed_int("mask", 0);
  runner_.feed("d", tensor_of({2}, {5, 6}));
  runner_.add(OpDesc("select_input_grad",
                     {{"X", {"a", "b"}}, {"Mask", {"mask"}}, {"Out@GRAD", {"d"}}},
                     {{"X@GRAD", {"da", "db"}}}));
  EXPECT_THAT(runner_.values("da"), ElementsAre(5, 6));
  EXPECT_THAT(runner_.values("db"), ElementsAre(0, 0));
}

TEST_F(SelectInputTest, ChoosesZerosForAGradientThatWasNotWanted) {
  const OpDesc op("select_input_grad", {{"X", {"a", "b"}}, {"Mask", {"m"}}, {"Out@GRAD", {"d"}}},
                  {{"X@GRAD", {"da", std::string(kEmptyName)}}});
  const std::set<std::string> no_grad;
  GradContext context(op, no_grad);
  const std::vector<OpDesc> grads = builtin_ops().grad_ops(context);
  ASSERT_EQ(grads.size(), 2u);
  EXPECT_EQ(to_string(grads[0]), "fill_zeros_like(X=b) -> Out=da@ZEROS@X1");
  EXPECT_EQ(to_string(grads[1]), "select_input(Mask=m, X=[da@GRAD, da@ZEROS@X1]) -> Out=d@GRAD");
}

TEST_F(SelectInputTest, RefusesMoreGradientsThanInputs) {
  const std::string none(kEmptyName);
  const std::set<std::string> no_grad;
  const OpDesc select("select_input_grad", {{"X", {"a"}}, {"Mask", {"m"}}, {"Out@GRAD", {"d"}}},
                      {{"X@GRAD", {"da", none, none}}});
  GradContext context(select, no_grad);
  EXPECT_THAT([&] { builtin_ops().grad_ops(context); },
              ThrowsMessage<InvalidArgument>("select_input_grad: X@GRAD must hold a variable, or "
                                             "@EMPTY@, for each of X, got 3 for 1"));
}

}  // namespace
}  // namespace fluidcore
