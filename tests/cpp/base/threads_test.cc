#include "fluidcore/base/threads.h"

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace fluidcore {
namespace {

// How often each element of [0, size) is visited.
std::vector<int> visits(std::int64_t size, std::int64_t grain) {
  std::vector<int> count(static_cast<std::size_t>(size));
  parallel_for(size, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(i)];
  });
  return count;
}

TEST(ParallelFor, CoversEveryElementOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    const ThreadCountScope scope(threads);
    for (const std::int64_t size : {1, 2, 3, 5, 64, 1000, 1001}) {
      for (const std::int64_t grain : {0, 1, 3, 1000, 100000}) {
        EXPECT_EQ(visits(size, grain), std::vector<int>(static_cast<std::size_t>(size), 1))
            << threads << " threads, size " << size << ", grain " << grain;
      }
    }
  }
}

TEST(ParallelFor, DoesNothingForAnEmptyRange) {
  parallel_for(0, 1, [](std::int64_t, std::int64_t) { ADD_FAILURE(); });
}

TEST(ParallelFor, MakesNoPartSmallerThanTheGrain) {
  const ThreadCountScope scope(4);
  std::vector<std::int64_t> sizes(100);
  parallel_for(100, 40, [&](std::int64_t begin, std::int64_t end) {
    sizes[static_cast<std::size_t>(begin)] = end - begin;
  });
  for (const std::int64_t size : sizes) EXPECT_TRUE(size == 0 || size >= 40) << size;
}

TEST(ThreadCountScope, RestoresTheCountOfItsThread) {
  const int before = num_threads();
  {
    const ThreadCountScope scope(before + 3);
    EXPECT_EQ(num_threads(), before + 3);
    {
      const ThreadCountScope inner(1);
      EXPECT_EQ(num_threads(), 1);
    }
    EXPECT_EQ(num_threads(), before + 3);
  }
  EXPECT_EQ(num_threads(), before);
}

TEST(ThreadCountScope, LeavesOtherThreadsAlone) {
  const int before = num_threads();
  const ThreadCountScope scope(before + 5);
  int seen = 0;
  std::thread([&] { seen = num_threads(); }).join();
  EXPECT_EQ(seen, before);
}

}  // namespace
}  // namespace fluidcore
