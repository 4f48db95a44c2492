#include "fluidcore/base/shared_tasks.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"

namespace fluidcore {
namespace {

using Task = std::optional<std::int64_t>;

TEST(SharedTasks, BeginWithAShareThatFollowsEachOther) {
  SharedTasks tasks(10, 2);
  EXPECT_EQ(tasks.next(1), Task(5));
  EXPECT_EQ(tasks.next(1), Task(6));
  EXPECT_EQ(tasks.next(0), Task(0));
}

TEST(SharedTasks, GoOnWithWhatOthersHaveNotBegun) {
  SharedTasks tasks(7, 3);  // [0, 2), [2, 4), [4, 7)
  EXPECT_EQ(tasks.next(0), Task(0));
  for (const std::int64_t task : {2, 3, 4, 5, 6, 1}) EXPECT_EQ(tasks.next(1), Task(task));
  for (const std::int64_t worker : {0, 1, 2}) EXPECT_EQ(tasks.next(worker), std::nullopt);
}

TEST(SharedTasks, MayBeFewerThanWorkersOrNone) {
  SharedTasks one(1, 3);
  EXPECT_EQ(one.next(0), Task(0));
  EXPECT_EQ(one.next(1), std::nullopt);
  SharedTasks none(0, 2);
  EXPECT_EQ(none.next(1), std::nullopt);
}

TEST(ParallelWorkers, RunEveryTaskOnce) {
  for (const int threads : {1, 2, 7}) {
    const ThreadCountScope scope(threads);
    for (const std::int64_t workers : {1, 2, 5}) {
      for (const std::int64_t count : {0, 1, 4, 1000}) {
        std::vector<int> runs(static_cast<std::size_t>(count));
        parallel_workers(workers, count, [&](std::int64_t worker, const auto& next) {
          EXPECT_LT(worker, workers);
          while (const Task task = next()) ++runs[static_cast<std::size_t>(*task)];
        });
        EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(count), 1))
            << threads << " threads, " << workers << " workers, " << count << " tasks";
      }
    }
  }
}

TEST(ParallelWorkers, DoNotWaitForOneThatIsHeldUp) {
  const ThreadCountScope scope(2);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::atomic<int> others = 0;
  int seen = 0;
  parallel_workers(2, 10, [&](std::int64_t /*worker*/, const auto& next) {
    while (const Task task = next()) {
      if (*task != 0) {
        ++others;
        continue;
      }
      while (others < 9 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
      seen = others;
    }
  });
  EXPECT_EQ(seen, 9);
}

}  // namespace
}  // namespace fluidcore
