#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor_fixture.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A loop without an end is ended by something else than the clock: these tests pass when they end.
class InterruptedRunTest : public ExecutorTest {
 protected:
  InterruptedRunTest() { options_.interruption = &interruption_; }

  // As long as `condition`, a variable of block 0, is positive: `work` = `work` + 1.
  void add_endless_loop(const std::string& work) {
    add_constant("for_ever", 1);
    const std::int64_t block = new_block(0);
    add_while(0, "for_ever", block);
    add_in(block, "add_one", work, work);
  }
  void run_interrupted(const std::string& fetch) {
    std::thread other([this] { interruption_.request(); });
    EXPECT_THROW(run({}, {fetch}), Interrupted);
    other.join();
  }

  Interruption interruption_;
};

TEST_F(InterruptedRunTest, EndsALoopAndLeavesTheScopeAsItWas) {
  declare("w", {2}, true);
  declare("new", {2}, true);
  set("w", {1, 2});
  add("add_one", "w", "w");
  add("add_one", "w", "new");
  add_endless_loop("w");
  run_interrupted("w");
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(1, 2));
  EXPECT_THAT(scope_->local_var_names(), ElementsAre("w"));
}

TEST_F(InterruptedRunTest, EndsALoopInsideOfALoop) {
  add_constant("for_ever", 1);
  add_constant("work", 1);
  const std::int64_t outer = new_block(0);
  add_while(0, "for_ever", outer);
  const std::int64_t inner = new_block(outer);
  add_while(outer, "for_ever", inner);
  add_in(inner, "add_one", "work", "work");
  run_interrupted("work");
}

TEST_F(InterruptedRunTest, NamesTheOperatorAndItsLineWhenTheTimeIsOver) {
  interruption_.limit(Interruption::Seconds(1e-9));
  OpDesc op("constant", {}, {{"Out", {"c"}}}, {{"value", 1.0}});
  op.set_call_site("train.py:41");
  add_to(0, std::move(op));
  add("add_one", "c", "d");
  try {
    run({}, {"d"});
    FAIL();
  } catch (const TimedOut& error) {
    EXPECT_STREQ(error.what(),
                 "constant: the run must end within 1e-09 s, got this still to do; "
                 "give it more time, or look for a loop without an end");
    EXPECT_EQ(error.note(), "operator 0 of block 0 (constant), added at train.py:41");
  }
}

TEST_F(InterruptedRunTest, BeginsAgainWithoutTheInterruption) {
  declare("w", {2}, true);
  set("w", {1, 2});
  add("add_one", "w", "w");
  interruption_.request();
  EXPECT_THROW(run({}, {}), Interrupted);
  options_.interruption = nullptr;
  run({}, {});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(2, 3));
}

TEST_F(InterruptedRunTest, GoesOnWhenThePollThrowsNothing) {
  int polls = 0;
  interruption_.set_poll([&] {
    if (++polls == 3) throw std::domain_error("enough");
  });
  add_constant("w", 0);
  add_endless_loop("w");
  EXPECT_THROW(run({}, {"w"}), std::domain_error);
  EXPECT_EQ(polls, 3);
}

TEST_F(InterruptedRunTest, DoesNotSaveWhatOnlyTheLastOperatorsWrite) {
  declare("x", {2}, false);
  declare("w", {2}, true);
  set("w", {1, 2});
  add("reverse", "x", "y");
  add_sum(0, "w", "y", "w");
  const Plan plan(ops_, program_, {{{"x", {{2}, DType::kFloat32}}}, {}}, *scope_);
  EXPECT_EQ(plan.backup_bytes(), 0);
}

TEST_F(InterruptedRunTest, SavesWhatIsWrittenBeforeALoop) {
  declare("w", {2}, true);
  set("w", {1, 2});
  add("add_one", "w", "w");
  add_constant("v", 1);
  add_endless_loop("v");
  const Plan plan(ops_, program_, {.feeds = {}, .fetches = {"v"}}, *scope_);
  EXPECT_EQ(plan.backup_bytes(), 8);
}

}  // namespace
}  // namespace fluidcore
