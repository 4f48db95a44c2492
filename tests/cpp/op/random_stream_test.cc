#include "fluidcore/op/random_stream.h"

#include <set>

#include <gtest/gtest.h>

namespace fluidcore {
namespace {

TEST(RandomStream, DiffersBetweenOperatorsAndRuns) {
  RunState state{.seed = 7, .step = 0};
  const RandomStream first(&state, 0, 0);
  const RandomStream second(&state, 1, 0);
  EXPECT_EQ(first.key(), 7u);
  EXPECT_NE(first.offset(), second.offset());
  const std::uint64_t before = first.offset();
  state.step = 1;
  EXPECT_NE(first.offset(), before);
}

TEST(RandomStream, IsTheSameInEveryRunForAnOperatorWithASeedOfItsOwn) {
  RunState state{.seed = 7, .step = 0};
  const RandomStream stream(&state, 3, 11);
  EXPECT_EQ(stream.key(), 11u);
  const std::uint64_t before = stream.offset();
  state = {.seed = 8, .step = 5};
  EXPECT_EQ(stream.key(), 11u);
  EXPECT_EQ(stream.offset(), before);
}

TEST(RandomStream, OfAnOperatorWithTheProgramsSeedIsNotThatOfAnother) {
  const RunState state{.seed = 7, .step = 0};
  const RandomStream own_seed(&state, 0, 7);
  const RandomStream programs_seed(&state, 0, 0);
  EXPECT_EQ(own_seed.key(), programs_seed.key());
  EXPECT_NE(own_seed.offset(), programs_seed.offset());
}

TEST(RandomStream, DiffersInEveryRunOfABlock) {
  RunState state{.seed = 7, .step = 3};
  for (const std::int64_t own_seed : {0, 11}) {
    const RandomStream stream(&state, 2, own_seed);
    std::set<std::uint64_t> keys;
    for (std::uint64_t run = 0; run < 1000; ++run) {
      state.block_run = run;
      keys.insert(stream.key());
    }
    EXPECT_EQ(keys.size(), 1000u);
  }
}

}  // namespace
}  // namespace fluidcore
