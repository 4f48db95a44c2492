#include "fluidcore/gradcheck/verdict/error_statistics.h"

#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/infinity.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

ErrorStatistics of(const std::vector<double>& a, const std::vector<double>& n) {
  return error_statistics(a.data(), n.data(), std::ssize(a), 1e-8);
}

TEST(ErrorStatistics, TheLargestTheMeanAndTheMedianAreTold) {
  const ErrorStatistics found = of({1, 2, 3, 5}, {1, 2.5, 2, 4});
  EXPECT_EQ(found.absolute.max, 1);
  EXPECT_EQ(found.absolute.mean, 0.625);
  EXPECT_EQ(found.absolute.median, 0.75);
  EXPECT_EQ(found.relative.median, 0.2);
  EXPECT_NEAR(found.relative.max, 1.0 / 3, 1e-15);
}

TEST(ErrorStatistics, TheMedianOfAnOddNumberIsOneOfThem) {
  EXPECT_EQ(of({3, 1, 2}, {0, 0, 0}).absolute.median, 2);
  EXPECT_EQ(of({7}, {5}).absolute.median, 2);
}

TEST(ErrorStatistics, SmallNumbersAreComparedWithTheSmallest) {
  EXPECT_EQ(of({1e-9}, {0}).relative.max, 1e-9 / 1e-8);
}

TEST(ErrorStatistics, WhatIsNotFiniteIsInfinitelyWrong) {
  for (const double bad : {kInfinity, -kInfinity, kNaN}) {
    EXPECT_EQ(of({bad, 1}, {bad, 1}).relative.max, kInfinity);
    EXPECT_EQ(of({1, 1}, {bad, 1}).absolute.mean, kInfinity);
  }
}

TEST(ErrorStatistics, OfNothingTheyAreZero) {
  EXPECT_EQ(of({}, {}).absolute.max, 0);
}

}  // namespace
}  // namespace fluidcore::gradcheck
