#include "fluidcore/runtime/executor.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor_fixture.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST_F(ExecutorTest, ReadsAFeedAsItWasWhenItIsAViewOfAVariableThatTheRunWrites) {
  declare("w", {2}, true);
  declare("x", {2}, false);
  add("add_one", "w", "w");
  add("add_one", "x", "y");
  set("w", {1, 2});
  EXPECT_THAT(values(run({{"x", scope_->find_var("w")->tensor()}}, {"y"})[0]), ElementsAre(2, 3));
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(2, 3));
}

TEST_F(ExecutorTest, RefusesANumberOfThreadsThatCannotBeStarted) {
  for (const int threads : {0, -1, 1'000'000}) {
    options_.threads = threads;
    EXPECT_THROW(run({}, {}), InvalidArgument) << threads;
  }
}

TEST_F(ExecutorTest, FetchesWhatTheOperatorsCalculate) {
  declare("x", {-1}, false);
  add("add_one", "x", "y");
  add("reverse", "y", "z");
  EXPECT_THAT(values(run({{"x", make({1, 2, 3})}}, {"z"})[0]), ElementsAre(4, 3, 2));
}

TEST_F(ExecutorTest, DoesNotWriteToWhatWasFed) {
  declare("x", {-1}, false);
  add("add_one", "x", "x");
  const Tensor fed = make({1, 2});
  EXPECT_THAT(values(run({{"x", fed}}, {"x"})[0]), ElementsAre(2, 3));
  EXPECT_THAT(values(fed), ElementsAre(1, 2));
}

TEST_F(ExecutorTest, GivesMemoryOfItsOwnToAnOutputThatMayNotOverwriteItsInput) {
  declare("x", {-1}, false);
  add("add_one", "x", "y");
  add("reverse", "y", "y");
  EXPECT_THAT(values(run({{"x", make({1, 2, 3})}}, {"y"})[0]), ElementsAre(4, 3, 2));
}

TEST_F(ExecutorTest, UpdatesPersistableVariablesInTheScope) {
  declare("w", {2}, true);
  set("w", {5, 7});
  add("add_one", "w", "w");
  add("reverse", "w", "w");
  run({}, {});
  run({}, {});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(7, 9));
}

TEST_F(ExecutorTest, CreatesPersistableVariablesThatAreOnlyWritten) {
  declare("w", {2}, true);
  add_constant("w", 3);
  run({}, {});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(3, 3));
}

TEST_F(ExecutorTest, RunsOnlyWhatTheFetchesNeed) {
  declare("x", {-1}, false);
  add("check", "x", "unused");
  add("add_one", "x", "y");
  EXPECT_THAT(values(run({{"x", make({-1})}}, {"y"})[0]), ElementsAre(0));
}

TEST_F(ExecutorTest, LeavesTheScopeAsItWasWhenAKernelThrows) {
  declare("x", {-1}, false);
  declare("w", {2}, true);
  declare("created", {2}, true);
  set("w", {5, 7});
  add("add_one", "w", "w");
  add_constant("created", 1);
  add("check", "x", "y");
  EXPECT_THAT([&] { run({{"x", make({-2})}}, {"y"}); },
              ThrowsMessage<InvalidArgument>("check: X must be at least 0, got -2.0"));
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(5, 7));
  EXPECT_EQ(scope_->find_var("created"), nullptr);
  run({{"x", make({2})}}, {"y"});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(6, 8));
}

TEST_F(ExecutorTest, SaysWhichOperatorFailed) {
  declare("x", {-1}, false);
  add("check", "x", "y");
  program_.block(0).ops()[0]->set_call_site("train.py:41");
  try {
    run({{"x", make({-2})}}, {"y"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.note(), "operator 0 of block 0 (check), added at train.py:41");
  }
}

TEST_F(ExecutorTest, FindsThePlanAgainForTheSameSignature) {
  declare("x", {-1}, false);
  add("add_one", "x", "y");
  run({{"x", make({1})}}, {"y"});
  run({{"x", make({2})}}, {"y"});
  EXPECT_EQ(executor_.cached_plans(), 1u);
  run({{"x", make({1, 2})}}, {"y"});
  EXPECT_EQ(executor_.cached_plans(), 2u);
}

TEST_F(ExecutorTest, BuildsANewPlanWhenTheProgramHasChanged) {
  declare("x", {-1}, false);
  add("add_one", "x", "y");
  EXPECT_THAT(values(run({{"x", make({1})}}, {"y"})[0]), ElementsAre(2));
  add("add_one", "y", "y");
  EXPECT_THAT(values(run({{"x", make({1})}}, {"y"})[0]), ElementsAre(3));
  EXPECT_EQ(executor_.cached_plans(), 1u);
}

TEST_F(ExecutorTest, FollowsAVariableOfTheScopeToNewMemoryAndToANewShape) {
  declare("w", {-1}, true);
  add("add_one", "w", "y");
  set("w", {1});
  EXPECT_THAT(values(run({}, {"y"})[0]), ElementsAre(2));
  set("w", {4});
  EXPECT_THAT(values(run({}, {"y"})[0]), ElementsAre(5));
  set("w", {4, 5});
  EXPECT_THAT(values(run({}, {"y"})[0]), ElementsAre(5, 6));
}

TEST_F(ExecutorTest, RunsOnePlanOnTwoScopesInTwoThreads) {
  declare("w", {2}, true);
  add("add_one", "w", "w");
  const auto count = [this](float start) {
    const auto scope = Scope::create();
    scope->var("w")->tensor() = make({start, start});
    for (int i = 0; i < 1000; ++i) executor_.run(program_, {}, {}, scope, options_);
    EXPECT_THAT(values(scope->find_var("w")->tensor()), ElementsAre(start + 1000, start + 1000));
  };
  std::thread first(count, 0.0f);
  std::thread second(count, 5.0f);
  first.join();
  second.join();
}

TEST_F(ExecutorTest, WorksOnEmptyTensors) {
  declare("x", {-1}, false);
  add("add_one", "x", "y");
  EXPECT_EQ(run({{"x", make({})}}, {"y"})[0].size(), 0);
}

TEST_F(ExecutorTest, RejectsAFeedThatTheProgramDoesNotKnow) {
  declare("image", {-1}, false);
  add("add_one", "image", "y");
  EXPECT_THAT(
      [&] { run({{"imag", make({1})}}, {"y"}); },
      ThrowsMessage<NotFound>("feed: no variable 'imag' in the program; did you mean 'image'?"));
}

TEST_F(ExecutorTest, RejectsAFeedOfAnotherDtypeOrShape) {
  declare("x", {2}, false);
  add("add_one", "x", "y");
  const Tensor wrong_dtype({{2}, DType::kFloat64});
  EXPECT_THAT([&] { run({{"x", wrong_dtype}}, {"y"}); },
              ThrowsMessage<InvalidArgument>("feed: 'x' must be float32, got float64; "
                                             "write x.astype('float32')"));
  EXPECT_THAT(
      [&] { run({{"x", make({1, 2, 3})}}, {"y"}); },
      ThrowsMessage<InvalidArgument>("feed: 'x' must have the shape [2] (-1: any size), got [3]"));
}

TEST_F(ExecutorTest, SaysWhatIsMissingWhereAVariableHasNoValue) {
  declare("x", {2}, false);
  declare("w", {2}, true);
  add("add_one", "x", "y");
  add("add_one", "w", "total");
  EXPECT_THAT([&] { run({}, {"y"}); }, ThrowsMessage<InvalidArgument>(HasSubstr("must be fed")));
  EXPECT_THAT([&] { run({}, {"total"}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("run the startup program first")));
  EXPECT_THAT([&] { run({}, {"totl"}); },
              ThrowsMessage<NotFound>(HasSubstr("did you mean 'total'?")));
}

TEST_F(ExecutorTest, NamesTheOperatorThatMakesTheFirstNan) {
  declare("x", {-1}, false);
  add("add_one", "x", "y");
  add("reverse", "y", "z");
  options_.check_nan = true;
  EXPECT_THAT(
      [&] { run({{"x", make({NAN})}}, {"z"}); },
      ThrowsMessage<InvalidArgument>(
          "add_one: output 'y' must be free of NaN, got at least one, the first in this run"));
}

TEST_F(ExecutorTest, GoesOnFromTheStateOfRandomNumbersThatAnotherOneWasIn) {
  add_to(0, OpDesc("draw", {}, {{"Out", {"number"}}}));
  run({}, {"number"});
  const RunState state = executor_.next_state(program_);
  EXPECT_EQ(state.step, 1U);
  const std::vector<float> expected = values(run({}, {"number"})[0]);
  Executor other(ops_);
  other.set_next_state(program_, state);
  EXPECT_EQ(values(other.run(program_, {}, {"number"}, scope_, options_)[0]), expected);
  EXPECT_NE(values(other.run(program_, {}, {"number"}, scope_, options_)[0]), expected);
}

TEST_F(ExecutorTest, RefusesAStateOfAnotherSeedThanTheProgramsOwn) {
  program_.set_random_seed(5);
  EXPECT_THAT(
      [&] { executor_.set_next_state(program_, {.seed = 6, .step = 1}); },
      ThrowsMessage<InvalidArgument>("executor: the state must be of the program's seed, 5, "
                                     "got one of seed 6"));
  EXPECT_EQ(executor_.next_state(program_).step, 0U);
}

}  // namespace
}  // namespace fluidcore
