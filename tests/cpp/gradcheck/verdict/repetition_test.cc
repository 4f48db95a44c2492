#include "fluidcore/gradcheck/verdict/repetition.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/gradcheck/function/infinity.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Numbers = std::vector<double>;

// Of all runs that are wanted: the first, and then the others in turn.
Repetition all_runs(const Numbers& first, const std::vector<Numbers>& others) {
  Repetition runs(first);
  for (std::size_t i = 0; runs.wants_more(); ++i) runs.add(others[i % others.size()]);
  return runs;
}

TEST(Repetition, WhatIsTheSameRunsTwice) {
  const Numbers first = {1, kNaN, kInfinity, 0};
  const Repetition runs = all_runs(first, {{1, kNaN, kInfinity, -0.0}});
  EXPECT_TRUE(runs.repeats());
  EXPECT_EQ(runs.runs(), 2);
  EXPECT_THAT(runs.deviation(), IsEmpty());
  EXPECT_THAT(runs.margin(), IsEmpty());
  EXPECT_EQ(runs.worst(), 0);
  EXPECT_FALSE(runs.is_random());
  EXPECT_TRUE(runs.is_rounding(DType::kFloat64));
}

TEST(Repetition, WhatDiffersIsMeasuredInEightRuns) {
  const Numbers first = {5, 1};
  const Repetition runs = all_runs(first, {{5, 3}, {5, 1}});
  EXPECT_FALSE(runs.repeats());
  EXPECT_EQ(runs.runs(), 8);
  // Of 1 and 3, four times each, the mean is 2.
  EXPECT_THAT(runs.deviation(), ElementsAre(0, ::testing::DoubleEq(std::sqrt(8.0 / 7))));
  EXPECT_THAT(runs.margin(), ElementsAre(0, ::testing::DoubleEq(4 * std::sqrt(8.0 / 7))));
  EXPECT_EQ(runs.size(), 5);
}

TEST(Repetition, ARunThatDiffersLateIsSeen) {
  const Numbers first = {1};
  Repetition runs(first, 4);
  runs.add(first);
  runs.add(first);
  runs.add(Numbers{1.5});
  EXPECT_TRUE(runs.wants_more());
  // 1, 1, 1, 1.5
  EXPECT_NEAR(runs.worst(), 0.25, 1e-15);
}

TEST(Repetition, AThousandthOfTheLargestIsTheBorderOfRandomness) {
  const Numbers first = {1000, 0};
  const auto off = [&](double by) { return all_runs(first, {{1000, by}, first}); };
  const double one = 1 / std::sqrt(2.0 / 7);  // of which four of eight deviate by 1
  EXPECT_FALSE(off(0.99 * one).is_random());
  EXPECT_TRUE(off(1.01 * one).is_random());
}

TEST(Repetition, WhatIsNotAlwaysANumberDeviatesWithoutEnd) {
  const Numbers first = {1, 2};
  for (const double other : {kNaN, kInfinity}) {
    const Repetition runs = all_runs(first, {{1, other}, first});
    EXPECT_THAT(runs.deviation(), ElementsAre(0, kInfinity));
    EXPECT_TRUE(runs.is_random());
    EXPECT_FALSE(runs.is_rounding(DType::kBFloat16));
  }
}

TEST(Repetition, RoundingIsThatOfTheDtype) {
  const Numbers first = {1, 0};
  const Repetition runs = all_runs(first, {{1, 1e-5}, first});
  EXPECT_FALSE(runs.is_rounding(DType::kFloat64));
  EXPECT_TRUE(runs.is_rounding(DType::kFloat32));
}

TEST(Repetition, NothingIsNotRandom) {
  const Numbers nothing;
  const Repetition runs = all_runs(nothing, {{}});
  EXPECT_TRUE(runs.repeats());
  EXPECT_FALSE(runs.is_random());
}

TEST(Repetition, RunsOfAnotherSizeAreRefused) {
  const Numbers first = {1, 2};
  Repetition runs(first);
  EXPECT_THROW(runs.add(Numbers{1}), InvalidArgument);
}

}  // namespace
}  // namespace fluidcore::gradcheck
