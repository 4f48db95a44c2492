#include "fluidcore/runtime/passes/arena.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

TEST(Arena, ReusesTheMemoryOfWhatIsDead) {
  const ArenaLayout layout = lay_out({{64, 0, 1}, {64, 1, 2}, {64, 2, 3}});
  EXPECT_THAT(layout.offsets, testing::ElementsAre(0, 64, 0));
  EXPECT_EQ(layout.bytes, 128u);
}

TEST(Arena, NeverPutsTwoLivingTemporariesInOnePlace) {
  std::mt19937 random(0);
  std::vector<Lifetime> lifetimes;
  for (std::size_t i = 0; i < 500; ++i) {
    lifetimes.push_back({random() % 1000, i / 2, i / 2 + random() % 20});
  }
  const ArenaLayout layout = lay_out(lifetimes);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    EXPECT_EQ(layout.offsets[i] % 64, 0u);
    EXPECT_LE(layout.offsets[i] + lifetimes[i].bytes, layout.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      if (!overlap(lifetimes[i], lifetimes[j])) continue;
      const bool before = layout.offsets[i] + lifetimes[i].bytes <= layout.offsets[j];
      const bool after = layout.offsets[j] + lifetimes[j].bytes <= layout.offsets[i];
      EXPECT_TRUE(before || after || lifetimes[i].bytes == 0 || lifetimes[j].bytes == 0);
    }
  }
}

TEST(Arena, GrowsFromAFreePartAtItsEnd) {
  EXPECT_EQ(lay_out({{64, 0, 0}, {128, 1, 1}}).bytes, 128u);
}

TEST(Arena, RefusesMoreThanCanBeCounted) {
  const std::size_t half = std::size_t{1} << 63;
  EXPECT_THROW(lay_out({{half, 0, 1}, {half, 0, 1}}), InvalidArgument);
}

TEST(Arena, IsEmptyForNothing) {
  EXPECT_EQ(lay_out({}).bytes, 0u);
  EXPECT_EQ(lay_out({{0, 0, 5}}).bytes, 0u);
}

}  // namespace
}  // namespace fluidcore
