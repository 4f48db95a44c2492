#include "fluidcore/gradcheck/verdict/linearity.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

using Numbers = std::vector<double>;

std::optional<Deviation> scaled(const Numbers& gradient,
                                const Numbers& before,
                                DType dtype = DType::kFloat64,
                                const Slack& slack = {}) {
  return deviation({{gradient}, {before}, kExactFactor}, 0, dtype, slack);
}

TEST(Linearity, TheFactorRoundsNothing) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16}) {
    const Tensor v = tensor_of({0.1, -3, 0}, dtype);
    const Tensor scaled = scaled_exactly(v);
    EXPECT_EQ(scaled.dtype(), dtype);
    for (std::int64_t i = 0; i < v.size(); ++i) {
      EXPECT_EQ(scaled.get_float_element(i), -v.get_float_element(i) / 64);
    }
  }
}

TEST(Linearity, WhatIsTheSameDoesNotDeviate) {
  EXPECT_FALSE(scaled({-1, -0.25}, {64, 16}));
  EXPECT_FALSE(scaled({}, {}));
}

TEST(Linearity, TheElementThatIsOffTheMostIsNamed) {
  const auto found = scaled({-1, -0.25 - 1e-8, -0.25 + 1e-6}, {64, 16, 16});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->element, 2);
  EXPECT_EQ(found->found, -0.25 + 1e-6);
  EXPECT_EQ(found->expected, -0.25);
  EXPECT_NE(found->linear, Linear::kYes);
}

TEST(Linearity, RoundingOfTheLargestElementIsNotWrong) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const double most = rounding_of_sums(dtype);
    const auto less = scaled({-1, 0.99 * most}, {64, 0}, dtype);
    const auto more = scaled({-1, 1.01 * most}, {64, 0}, dtype);
    ASSERT_TRUE(less && more);
    EXPECT_EQ(less->linear, Linear::kYes);
    EXPECT_NE(more->linear, Linear::kYes);
  }
}

TEST(Linearity, TermsThatCancelAndRunsThatDifferGiveSlack) {
  const Numbers off = {1e-3};
  const Numbers zero = {0};
  EXPECT_NE(scaled(off, zero)->linear, Linear::kYes);
  EXPECT_EQ(scaled(off, zero, DType::kFloat64, {.terms = 2e6})->linear, Linear::kYes);
  EXPECT_NE(scaled(off, zero, DType::kFloat64, {.terms = 2e6 / 3})->linear, Linear::kYes);
  EXPECT_EQ(scaled(off, zero, DType::kFloat64, {.spread = 1.3e-4})->linear, Linear::kYes);
}

TEST(Linearity, WhatNeedsNoCotangentIsNoRounding) {
  const Numbers off = {1e-300};
  const Numbers first = {1};
  const auto found = deviation({{off}, {first}, 0}, 0, DType::kFloat64);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->linear, Linear::kNo);
  EXPECT_EQ(scaled({1e-3}, {0})->linear, Linear::kOpen);
  EXPECT_EQ(scaled({std::nan("")}, {0})->linear, Linear::kNo);
}

TEST(Linearity, ACopyOfACotangentDiffersByManyRoundingUnits) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16})
    EXPECT_GE(kCopyDither, 8 * unit_roundoff(dtype));
}

TEST(Linearity, WhatScattersAround0IsNoFault) {
  const Numbers scattered = {3, -2, 1, -3, 2, -1, 4, -3};
  EXPECT_FALSE(is_fault(scattered, 0));
  Numbers shifted = scattered;
  for (double& one : shifted) one += 20;
  EXPECT_TRUE(is_fault(shifted, 0));
  EXPECT_FALSE(is_fault(shifted, 15));
  EXPECT_TRUE(is_fault(Numbers(8, 1e-3), 0.9e-3));
  EXPECT_FALSE(is_fault(Numbers(8, 1e-3), 1.1e-3));
  shifted[3] = std::nan("");
  EXPECT_FALSE(is_fault(shifted, 0));
}

TEST(Linearity, NothingMoreIsAskedOfWhatIsRight) {
  const Numbers first = {64, 16};
  const Numbers found = {-1, -0.25};
  const auto worst = check_linear({{found}, {first}, kExactFactor}, {DType::kFloat64, {{}}});
  ASSERT_EQ(worst.size(), 1);
  EXPECT_FALSE(worst[0]);
}

TEST(Linearity, GradientsOfOtherSizesAreRefused) {
  const Numbers one = {1};
  const Numbers two = {1, 2};
  EXPECT_THROW(check_linear({{one}, {two}}, {DType::kFloat64, {{}}}), InvalidArgument);
}

TEST(Linearity, ASumIsThatOfBoth) {
  const Numbers first = {1, 2};
  const Numbers second = {10, 20};
  const Numbers sum = {11, 22.5};
  const auto found = deviation({{sum}, {first}, 1, {second}}, 0, DType::kFloat64);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->element, 1);
  EXPECT_EQ(found->expected, 22);
}

TEST(Linearity, WithoutACotangentNothingIsRounded) {
  const Numbers before = {64, 1e300};
  const auto without = [&](const Numbers& gradient) {
    return deviation({{gradient}, {before}, 0}, 0, DType::kFloat64, {.spread = 1});
  };
  EXPECT_FALSE(without({0, -0.0}));
  EXPECT_NE(without({0, 1e-310})->linear, Linear::kYes);
}

TEST(Linearity, ANumberThatBecomesNoneIsWrong) {
  const auto found = scaled({-1, std::nan("")}, {64, 16});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->element, 1);
  EXPECT_NE(found->linear, Linear::kYes);
}

TEST(Linearity, WhatTheDtypeDoesNotHoldIsLeftToOthers) {
  EXPECT_FALSE(scaled({-kInfinity, 1}, {1e308, std::nan("")}));
  EXPECT_EQ(scaled({0}, {1e-310})->linear, Linear::kYes);
  EXPECT_EQ(scaled({-1.0e-7}, {6.0e-8}, DType::kFloat16)->linear, Linear::kYes);
}

}  // namespace
}  // namespace fluidcore::gradcheck
