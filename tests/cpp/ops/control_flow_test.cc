#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/op/grad_context.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

OpDesc while_op(const std::string& condition, std::int64_t block, std::int64_t max_steps = 100) {
  return OpDesc("while", {{"Condition", {condition}}}, {{"StepScopes", {"steps"}}},
                {{"sub_block", BlockIndex{block}}, {"max_steps", max_steps}});
}

// y doubles as long as i < n; i and y begin at 0 and 1.
class WhileTest : public ::testing::Test {
 protected:
  explicit WhileTest() {
    runner_.feed("y0", tensor_of({1}, {1}));
    runner_.feed_int("i0", 0);
    runner_.add("assign", "y0", "y");
    runner_.add("assign", "i0", "i");
  }
  void add_loop(std::int64_t n, std::int64_t max_steps = 100) {
    runner_.feed_int("n", n);
    runner_.add("less_than", "i", "n", "go", 0);
    const std::int64_t body = runner_.new_block();
    runner_.add("elementwise_add", "y", "y", "y", body);
    runner_.increment("i", body);
    runner_.add("less_than", "i", "n", "go", body);
    runner_.add(while_op("go", body, max_steps));
  }

  ProgramRunner runner_;
};

TEST_F(WhileTest, RunsItsBlockUntilTheConditionIsFalse) {
  add_loop(5);
  EXPECT_THAT(runner_.values("y"), ElementsAre(32));
  EXPECT_THAT(runner_.values("i"), ElementsAre(5));
  EXPECT_THAT(runner_.values("steps"), ElementsAre(5));
}

TEST_F(WhileTest, LeavesEverythingAsItWasWhenItIsNotRun) {
  add_loop(0);
  EXPECT_THAT(runner_.values("y"), ElementsAre(1));
  EXPECT_THAT(runner_.values("steps"), ElementsAre(0));
}

TEST_F(WhileTest, RunsAsManyStepsAsItMay) {
  add_loop(5, 5);
  EXPECT_THAT(runner_.values("y"), ElementsAre(32));
}

TEST_F(WhileTest, RefusesALoopWithoutEnd) {
  add_loop(6, 5);
  EXPECT_THAT([&] { runner_.values("y"); },
              ThrowsMessage<InvalidArgument>(
                  "while: Condition must become False within max_steps, got True after 5 steps; "
                  "update the condition in the block, or raise max_steps"));
}

TEST_F(WhileTest, RunsALoopInALoop) {
  runner_.feed_int("n", 3);
  runner_.add("less_than", "i", "n", "go", 0);
  const std::int64_t outer = runner_.new_block();
  const std::int64_t inner = runner_.new_block(outer);
  runner_.add("assign", "i0", "j", outer);
  runner_.add("less_than", "j", "n", "on", outer);
  runner_.add("elementwise_add", "y", "y", "y", inner);
  runner_.increment("j", inner);
  runner_.add("less_than", "j", "n", "on", inner);
  OpDesc inner_loop = while_op("on", inner);
  inner_loop.set_output("StepScopes", {});
  runner_.add(inner_loop, outer);
  runner_.increment("i", outer);
  runner_.add("less_than", "i", "n", "go", outer);
  runner_.add(while_op("go", outer));
  EXPECT_THAT(runner_.values("y"), ElementsAre(512));
}

TEST(While, RefusesWhatIsNoCondition) {
  ProgramRunner runner;
  const std::int64_t body = runner.new_block();
  runner.feed("number", tensor_of({1}, {1}));
  runner.feed_bool("two", {true, false});
  EXPECT_THAT([&] { runner.add(while_op("number", body)); },
              ThrowsMessage<InvalidArgument>(
                  "while: Condition must be bool, got float64; write cast(condition, 'bool')"));
  EXPECT_THAT(
      [&] { runner.add(while_op("two", body)); },
      ThrowsMessage<InvalidArgument>("while: Condition must have one element, got bool [2]"));
}

TEST(While, RefusesABlockThatIsNotInsideItsOwn) {
  ProgramRunner runner;
  runner.feed_bool("go", {true});
  const std::int64_t body = runner.new_block();
  EXPECT_THAT([&] { runner.add(while_op("go", 0)); },
              ThrowsMessage<InvalidArgument>("while: sub_block must be a block inside block 0, "
                                             "where the operator is, got block 0 itself"));
  EXPECT_THROW(runner.add(while_op("go", body), body), InvalidArgument);
  EXPECT_THROW(runner.add(while_op("go", 0), body), InvalidArgument);
  EXPECT_THROW(runner.add(while_op("go", 7)), NotFound);
  EXPECT_THROW(runner.add(while_op("go", -1)), NotFound);
}

TEST(While, RefusesToListUnknownVariables) {
  ProgramRunner runner;
  runner.feed_bool("go", {true});
  const std::int64_t body = runner.new_block();
  OpDesc op = while_op("go", body);
  op.set_output("Out", {"nothing"});
  EXPECT_THAT([&] { runner.add(op); },
              ThrowsMessage<NotFound>("while: Out must be a variable of block 0 or of a block "
                                      "around it, got the unknown name 'nothing'"));
}

TEST(While, IsReversedByALoopOfAsManySteps) {
  ProgramRunner runner;
  runner.feed_bool("go", {false});
  const std::int64_t body = runner.new_block();
  runner.add(while_op("go", body));
  const OpDesc& op = *runner.program().block(0).ops()[0];
  const std::set<std::string> no_grad;
  GradContext context(op, no_grad, {BlockIndex{2}});
  const std::vector<OpDesc> grads = builtin_ops().grad_ops(context);
  ASSERT_EQ(grads.size(), 1u);
  EXPECT_EQ(to_string(grads[0]), "while_grad(StepScopes=steps) ->    # sub_block=block 2");
  GradContext second(grads[0], no_grad, {BlockIndex{3}});
  EXPECT_EQ(to_string(builtin_ops().grad_ops(second).at(0)),
            "while_grad(StepScopes=steps) ->    # sub_block=block 3");
  GradContext none(op, no_grad);
  EXPECT_THAT([&] { builtin_ops().grad_ops(none); },
              ThrowsMessage<InvalidArgument>("while: the gradient needs the gradient of the "
                                             "operator's block, got 0 in grad_sub_blocks"));
}

TEST(WhileGrad, RunsItsBlockAsOftenAsItIsTold) {
  ProgramRunner runner;
  runner.feed("y0", tensor_of({1}, {1}));
  runner.feed_int("count", 3);
  runner.add("assign", "y0", "y");
  const std::int64_t body = runner.new_block();
  runner.add("elementwise_add", "y", "y", "y", body);
  runner.add(OpDesc("while_grad", {{"StepScopes", {"count"}}}, {{"Out", {"y"}}},
                    {{"sub_block", BlockIndex{body}}}));
  EXPECT_THAT(runner.values("y"), ElementsAre(8));
}

OpDesc conditional(std::vector<std::string> x, std::int64_t block, bool is_scalar) {
  return OpDesc("conditional_block", {{"X", std::move(x)}}, {{"Scope", {"was_run"}}},
                {{"sub_block", BlockIndex{block}}, {"is_scalar_condition", is_scalar}});
}

class ConditionalBlockTest : public ::testing::Test {
 protected:
  // y = 2 y0 under the condition, which begins as y0 where `has_start`.
  void build(std::vector<std::string> x, bool is_scalar, bool has_start = true) {
    runner_.feed("y0", tensor_of({2}, {1, 2}));
    if (has_start) {
      runner_.add("assign", "y0", "y");
    } else {
      runner_.given("y", 0, {{2}, DType::kFloat64});
    }
    const std::int64_t body = runner_.new_block();
    runner_.add("elementwise_add", "y0", "y0", "y", body);
    runner_.add(conditional(std::move(x), body, is_scalar));
  }

  ProgramRunner runner_;
};

TEST_F(ConditionalBlockTest, RunsItsBlockIfTheConditionIsTrue) {
  build({runner_.feed_bool("yes", {true})}, true);
  EXPECT_THAT(runner_.values("y"), ElementsAre(2, 4));
  EXPECT_THAT(runner_.values("was_run"), ElementsAre(1));
}

TEST_F(ConditionalBlockTest, DoesNotRunItsBlockIfTheConditionIsFalse) {
  build({runner_.feed_bool("no", {false})}, true);
  EXPECT_THAT(runner_.values("y"), ElementsAre(1, 2));
  EXPECT_THAT(runner_.values("was_run"), ElementsAre(0));
}

TEST_F(ConditionalBlockTest, LeavesZerosToPushWhereNothingWasWritten) {
  build({runner_.feed_bool("no", {false})}, true, false);
  const std::string a = runner_.array("a");
  runner_.add(OpDesc("push_to_array", {{"X", {"y"}}, {"Array", {a}}}, {{"ArrayOut", {a}}}));
  runner_.add(OpDesc("pop_from_array", {{"Array", {a}}}, {{"Out", {"z"}}, {"ArrayOut", {a}}}));
  EXPECT_THAT(runner_.values("z"), ElementsAre(0, 0));
}

TEST_F(ConditionalBlockTest, RunsItsBlockIfNoTensorIsEmpty) {
  build({runner_.feed("some", tensor_of({1}, {0})), runner_.feed_bool("no", {false})}, false);
  EXPECT_THAT(runner_.values("y"), ElementsAre(2, 4));
}

TEST_F(ConditionalBlockTest, DoesNotRunItsBlockIfATensorIsEmpty) {
  build({runner_.feed_bool("some", {true}), runner_.feed("none", tensor_of({0, 3}, {}))}, false);
  EXPECT_THAT(runner_.values("y"), ElementsAre(1, 2));
}

TEST_F(ConditionalBlockTest, LeavesAVariableWithoutValueWhereItIsNotRun) {
  build({runner_.feed_bool("no", {false})}, true, false);
  runner_.add("assign", "y", "z");
  EXPECT_THAT([&] { runner_.values("z"); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("assign: X 'y' must be written before it is read, got a block that")));
}

TEST(ConditionalBlockGrad, RunsItsBlockIfTheForwardBlockWasRun) {
  for (const bool was_run : {true, false}) {
    ProgramRunner runner;
    runner.feed("y0", tensor_of({1}, {1}));
    runner.add("assign", "y0", "y");
    const std::int64_t body = runner.new_block();
    runner.add("elementwise_add", "y", "y", "y", body);
    runner.add(OpDesc("conditional_block_grad", {{"X", {runner.feed_bool("ran", {was_run})}}},
                      {{"Out", {"y"}}}, {{"sub_block", BlockIndex{body}}}));
    EXPECT_THAT(runner.values("y"), ElementsAre(was_run ? 2 : 1));
  }
}

TEST_F(ConditionalBlockTest, RefusesWhatIsNoCondition) {
  EXPECT_THAT([&] { build({runner_.feed("x", tensor_of({1}, {0}))}, true); },
              ThrowsMessage<InvalidArgument>(
                  "conditional_block: X must be bool, got float64; write cast(x, 'bool')"));
  EXPECT_THAT([&] { runner_.add(conditional({"x", "x"}, 1, true)); },
              ThrowsMessage<InvalidArgument>(
                  "conditional_block: X must be one variable, the condition, got 2"));
}

TEST(InterruptedWhile, EndsAlsoWhereItsBlockHasNoOperators) {
  ProgramRunner runner;
  runner.feed_bool("go", {true});
  runner.add(OpDesc("while", {{"Condition", {"go"}}}, {{"StepScopes", {"steps"}}},
                    {{"sub_block", BlockIndex{runner.new_block()}},
                     {"max_steps", std::numeric_limits<std::int64_t>::max()}}));
  Interruption interruption;
  std::thread other([&] { interruption.request(); });
  Executor executor(builtin_ops());
  Executor::Options options;
  options.interruption = &interruption;
  EXPECT_THROW(executor.run(runner.program(), runner.feeds(), {"steps"}, Scope::create(), options),
               Interrupted);
  other.join();
}

}  // namespace
}  // namespace fluidcore
