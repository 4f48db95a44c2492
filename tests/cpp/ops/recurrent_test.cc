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

using Names = std::vector<std::string>;

constexpr DType kDouble = DType::kFloat64;

AttributeMap attrs_of(std::int64_t block) {
  return {{"sub_block", BlockIndex{block}},
          {"step_inputs", Names{"x_t"}},
          {"step_outputs", Names{"s_t"}},
          {"ex_states", Names{"s_before"}},
          {"states", Names{"s_t"}}};
}

// s_t = s_before + x_t: the running sum of x.
class RecurrentTest : public ::testing::Test {
 protected:
  explicit RecurrentTest() : body_(runner_.new_block()) {
    runner_.feed("start", tensor_of({2}, {10, 100}));
    runner_.given("x_t", body_, {{2}, kDouble});
    runner_.given("s_before", body_, {{2}, kDouble});
    runner_.add("elementwise_add", "s_before", "x_t", "s_t", body_);
  }
  void add_recurrent(const Tensor& x, AttributeMap more = {}) {
    runner_.feed("x", x);
    more.merge(attrs_of(body_));
    runner_.add(OpDesc("recurrent", {{"inputs", {"x"}}, {"initial_states", {"start"}}},
                       {{"outputs", {"sums"}}, {"step_scopes", {"steps"}}}, std::move(more)));
  }

  ProgramRunner runner_;
  std::int64_t body_;
};

TEST_F(RecurrentTest, HandsItsStatesFromStepToStep) {
  add_recurrent(tensor_of({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(runner_.values("sums"), ElementsAre(11, 102, 14, 106, 19, 112));
  EXPECT_THAT(runner_.values("steps"), ElementsAre(3));
}

TEST_F(RecurrentTest, RunsFromTheLastStepToTheFirstInReverse) {
  add_recurrent(tensor_of({3, 2}, {1, 2, 3, 4, 5, 6}), {{"reverse", true}});
  EXPECT_THAT(runner_.values("sums"), ElementsAre(19, 112, 18, 110, 15, 106));
}

TEST_F(RecurrentTest, GivesNoStepsForNoSlices) {
  add_recurrent(tensor_of({0, 2}, {}));
  const Tensor sums = runner_.run({"sums"})[0];
  EXPECT_EQ(sums.shape(), (Shape{0, 2}));
}

TEST_F(RecurrentTest, DoesTheSameInEveryRun) {
  add_recurrent(tensor_of({2, 2}, {1, 2, 3, 4}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(runner_.values("sums"), ElementsAre(11, 102, 14, 106));
    EXPECT_THAT(runner_.values("start"), ElementsAre(10, 100)) << "initial states stay as they are";
  }
}

TEST_F(RecurrentTest, RefusesWhatDoesNotFitTheBlock) {
  EXPECT_THAT([&] { add_recurrent(tensor_of({3, 4}, std::vector<double>(12))); },
              ThrowsMessage<InvalidArgument>(
                  "recurrent: the block's variable 'x_t' must be like the value it is given, "
                  "float64 [4], got float64 [2]"));
}

TEST_F(RecurrentTest, RefusesListsOfDifferentLength) {
  const Tensor x = tensor_of({1, 2}, {1, 2});
  EXPECT_THAT([&] { add_recurrent(x, {{"step_inputs", Names{}}}); },
              ThrowsMessage<InvalidArgument>(
                  "recurrent: inputs and step_inputs must have the same length, got 1 and 0"));
  EXPECT_THAT([&] { add_recurrent(x, {{"states", Names{"s_t", "s_t"}}}); },
              ThrowsMessage<InvalidArgument>(
                  "recurrent: initial_states and states must have the same length, got 1 and 2"));
  EXPECT_THAT([&] { add_recurrent(x, {{"step_outputs", Names{}}}); },
              ThrowsMessage<InvalidArgument>(
                  "recurrent: outputs and step_outputs must have the same length, got 1 and 0"));
  EXPECT_THAT(
      [&] { add_recurrent(x, {{"step_outputs", Names{"other"}}}); },
      ThrowsMessage<NotFound>("recurrent: no variable 'other' in the operator's block, block 1"));
}

TEST(Recurrent, SwapsStatesThatBecomeEachOther) {
  ProgramRunner runner;
  const std::int64_t body = runner.new_block();
  runner.feed("x", tensor_of({4, 1}, {0, 0, 0, 0}));
  runner.feed("a", tensor_of({1}, {1}));
  runner.feed("b", tensor_of({1}, {2}));
  for (const char* name : {"x_t", "a_before", "b_before"}) {
    runner.given(name, body, {{1}, kDouble});
  }
  runner.add("elementwise_add", "a_before", "x_t", "a_t", body);
  runner.add(OpDesc("recurrent", {{"inputs", {"x"}}, {"initial_states", {"a", "b"}}},
                    {{"outputs", {"as"}}},
                    {{"sub_block", BlockIndex{body}},
                     {"step_inputs", Names{"x_t"}},
                     {"step_outputs", Names{"a_t"}},
                     {"ex_states", Names{"a_before", "b_before"}},
                     {"states", Names{"b_before", "a_before"}}}));
  EXPECT_THAT(runner.values("as"), ElementsAre(1, 2, 1, 2));
}

TEST(Recurrent, RefusesInputsOfDifferentLength) {
  ProgramRunner runner;
  const std::int64_t body = runner.new_block();
  runner.feed("x", tensor_of({4, 1}, {0, 0, 0, 0}));
  runner.feed("y", tensor_of({3, 1}, {0, 0, 0}));
  runner.given("x_t", body, {{1}, kDouble});
  runner.given("y_t", body, {{1}, kDouble});
  EXPECT_THAT(
      [&] {
        runner.add(OpDesc("recurrent", {{"inputs", {"x", "y"}}}, {},
                          {{"sub_block", BlockIndex{body}}, {"step_inputs", Names{"x_t", "y_t"}}}));
      },
      ThrowsMessage<InvalidArgument>("recurrent: inputs must all have one length, the number of "
                                     "steps, got 'x_t' 4, 'y_t' 3"));
}

TEST(Recurrent, TurnsItsSlicesRoundInItsGradient) {
  const OpDesc op("recurrent", {{"inputs", {"x", "y"}}}, {{"outputs", {"out"}}},
                  {{"sub_block", BlockIndex{1}},
                   {"step_inputs", Names{"x_t", "y_t"}},
                   {"step_outputs", Names{"out_t"}},
                   {"reverse", false}});
  const std::set<std::string> no_grad = {"y"};
  GradContext context(op, no_grad, {BlockIndex{2}});
  const std::vector<OpDesc> grads = builtin_ops().grad_ops(context);
  ASSERT_EQ(grads.size(), 1u);
  EXPECT_EQ(to_string(grads[0]),
            "recurrent_grad(inputs=out@GRAD, like=x) -> outputs=[x@GRAD, @EMPTY@]   # reverse=True,"
            " step_inputs=['out_t@GRAD'], step_outputs=['x_t@GRAD', 'y_t@GRAD'], "
            "sub_block=block 2");
}

TEST(RecurrentGrad, RunsForTheLengthOfAnotherVariableWhereNothingIsGiven) {
  ProgramRunner runner;
  const std::int64_t body = runner.new_block();
  runner.feed("x", tensor_of({3, 1}, {0, 0, 0}));
  runner.feed("one", tensor_of({1}, {1}));
  runner.add("assign", "one", "sum");
  runner.add("elementwise_add", "sum", "sum", "sum", body);
  runner.add(OpDesc("recurrent_grad", {{"like", {"x"}}}, {}, {{"sub_block", BlockIndex{body}}}));
  EXPECT_THAT(runner.values("sum"), ElementsAre(8));
}

}  // namespace
}  // namespace fluidcore
