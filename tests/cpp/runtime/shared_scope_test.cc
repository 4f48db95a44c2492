#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor_fixture.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;

// Several threads on one scope.
class SharedScopeTest : public ExecutorTest {
 protected:
  static constexpr int kTimes = 100;

  static void run_together(const std::vector<std::function<void()>>& jobs) {
    std::vector<std::thread> threads;
    for (const auto& job : jobs) {
      threads.emplace_back([&job] {
        for (int i = 0; i < kTimes; ++i) job();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<Tensor> run_with(Executor& executor, const std::vector<std::string>& fetches) {
    return executor.run(program_, {}, fetches, scope_, options_);
  }
};

TEST_F(SharedScopeTest, RunsThatWriteTheSameVariableLoseNoUpdate) {
  declare("w", {2}, true);
  set("w", {0, 1});
  add("add_one", "w", "w");
  Executor other(ops_);
  const auto run_here = [&] { run({}, {}); };
  run_together({run_here, run_here, [&] { run_with(other, {}); }});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(3 * kTimes, 3 * kTimes + 1));
}

TEST_F(SharedScopeTest, RunsThatCreateTheSameVariableEndWithOneOfThem) {
  declare("w", {2}, true);
  add_constant("w", 5);
  const auto start = [&] {
    run({}, {});
    scope_->erase("w");
  };
  run_together({start, start});
  run({}, {});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(5, 5));
}

TEST_F(SharedScopeTest, AVariableIsSetBetweenRunsAlsoToAnotherShape) {
  declare("w", {-1}, true);
  set("w", {1, 1});
  add("reverse", "w", "y");
  add_sum(0, "w", "y", "sum");
  const auto variable = scope_->find_var("w");
  std::atomic<int> size = 2;
  run_together({[&] {
                  const std::vector<float> sum = values(run({}, {"sum"})[0]);
                  for (const float element : sum) EXPECT_EQ(element, sum.size());
                },
                [&] {
                  const int next = size = 5 - size;
                  const std::vector<float> half(static_cast<std::size_t>(next),
                                                static_cast<float>(next) / 2);
                  variable->change([&](Tensor& tensor) { tensor = make(half); });
                },
                [&] {
                  const Tensor seen = variable->read();
                  EXPECT_THAT(seen.size(), testing::AnyOf(2, 3));
                }});
}

TEST_F(SharedScopeTest, ASecondThreadMayNotChangeWhatARunReads) {
  declare("w", {2}, true);
  set("w", {1, 1});
  add("add_one", "w", "sum");
  add_constant("for_ever", 1);
  const std::int64_t block = new_block(0);
  add_while(0, "for_ever", block);
  add_in(block, "add_one", "sum", "sum");
  Interruption interruption;
  std::atomic<bool> has_begun = false;
  interruption.set_poll([&] { has_begun = true; });
  const auto variable = scope_->find_var("w");
  std::thread other([&] {
    while (!has_begun) std::this_thread::yield();
    EXPECT_FALSE(variable->try_change([](Tensor& /*tensor*/) { FAIL(); }));
    EXPECT_TRUE(variable->try_read());
    scope_->erase("w");  // the run keeps it
    interruption.request();
    variable->change([](Tensor& tensor) { tensor = make({7}); });
  });
  options_.interruption = &interruption;
  EXPECT_THROW(run({}, {"sum"}), Interrupted);
  other.join();
  EXPECT_THAT(values(variable->tensor()), ElementsAre(7));
  EXPECT_EQ(scope_->find_var("w"), nullptr);
}

TEST_F(SharedScopeTest, ChildrenReadTheirParentSideBySide) {
  declare("w", {2}, true);
  declare("own", {2}, true);
  set("w", {1, 2});
  add_sum(0, "w", "w", "own");
  const auto work = [&] {
    const auto child = scope_->new_scope();
    child->var("own");
    executor_.run(program_, {}, {}, child, options_);
    EXPECT_THAT(values(child->find_var("own")->tensor()), ElementsAre(2, 4));
  };
  run_together({work, work, work});
  scope_->drop_kids();
}

}  // namespace
}  // namespace fluidcore
