#include "fluidcore/gradcheck/verdict/digits.h"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/rounding.h"
#include "gradcheck/toy_derivatives.h"

namespace fluidcore::gradcheck {
namespace {

const std::vector<double> kValues = {0.1, -1.7, 2.3, 1e-3, 0.5};

std::vector<double> rounded(DType dtype, std::vector<double> values = kValues) {
  for (double& value : values) value = round_to(dtype, value);
  return values;
}

TEST(DigitsTest, ANarrowerDtypeIsNamed) {
  std::vector<double> large = kValues;  // float16 does not hold them
  for (double& value : large) value *= 1e7;
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    EXPECT_EQ(narrowed_to(rounded(DType::kFloat16), known_derivatives(kValues), dtype, 3),
              DType::kFloat16);
    EXPECT_EQ(narrowed_to(rounded(DType::kBFloat16, large), known_derivatives(large), dtype, 3),
              DType::kBFloat16);
  }
  EXPECT_EQ(narrowed_to(rounded(DType::kFloat32), known_derivatives(kValues), DType::kFloat64, 3),
            DType::kFloat32);
}

TEST(DigitsTest, AllDigitsAreRight) {
  const Derivatives reference = known_derivatives(kValues);
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16}) {
    EXPECT_EQ(narrowed_to(rounded(dtype), reference, dtype, 3), std::nullopt);
  }
}

TEST(DigitsTest, OneElementWithMoreDigitsIsEnough) {
  std::vector<double> claimed = rounded(DType::kFloat16);
  claimed[3] = 1e-3;
  EXPECT_EQ(narrowed_to(claimed, known_derivatives(kValues), DType::kFloat64, 3), std::nullopt);
}

TEST(DigitsTest, ValuesThatAreNumbersOfTheNarrowDtypeTellNothing) {
  const std::vector<double> simple = {1, -2, 0.5, 3, 0.25};
  EXPECT_EQ(narrowed_to(simple, known_derivatives(simple), DType::kFloat32, 3), std::nullopt);
  // Three that should have more digits are too few, four are enough.
  EXPECT_EQ(narrowed_to(rounded(DType::kFloat16, {0.1, 0.2, 0.3, 1, 2}),
                        known_derivatives({0.1, 0.2, 0.3, 1, 2}), DType::kFloat32, 3),
            std::nullopt);
  EXPECT_EQ(narrowed_to(rounded(DType::kFloat16, {0.1, 0.2, 0.3, 0.7, 2}),
                        known_derivatives({0.1, 0.2, 0.3, 0.7, 2}), DType::kFloat32, 3),
            DType::kFloat16);
}

TEST(DigitsTest, WhatIsZeroOrHasNoDerivativeTellsNothing) {
  const std::vector<double> values = {0.1, 0.2, 0.3, 0.7};
  std::vector<double> claimed = rounded(DType::kFloat16, values);
  Derivatives reference = known_derivatives(values);
  reference.flags[2] = kKink;
  EXPECT_EQ(narrowed_to(claimed, reference, DType::kFloat32, 3), std::nullopt);
  claimed[0] = 0;
  EXPECT_EQ(narrowed_to(claimed, known_derivatives(values), DType::kFloat32, 3), std::nullopt);
}

TEST(DigitsTest, AnErrorBarMayHideTheDigits) {
  EXPECT_EQ(
      narrowed_to(rounded(DType::kFloat16), known_derivatives(kValues, 1.0), DType::kFloat32, 3),
      std::nullopt);
}

TEST(DigitsTest, WhatIsNotFiniteIsNotJudged) {
  std::vector<double> claimed = rounded(DType::kFloat16);
  claimed[4] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(narrowed_to(claimed, known_derivatives(kValues), DType::kFloat32, 3), std::nullopt);
}

TEST(DigitsTest, OfTwoThatHoldTheNumbersTheOneWithFewerDigitsIsNamed) {
  EXPECT_EQ(narrowed_to(rounded(DType::kBFloat16), known_derivatives(kValues), DType::kFloat32, 3),
            DType::kBFloat16);
}

// Whether digits are missed in ones that are off by so much, in float64.
bool are_missed(double distance, double error = 0, double scale = 0) {
  Derivatives reference = known_derivatives(std::vector<double>(4, 1 + distance), error);
  reference.scale.assign(4, scale);
  return narrowed_to({1, 1, 1, 1}, reference, DType::kFloat64, 3).has_value();
}

TEST(DigitsTest, ErrorBarsAndSixteenUnitsOfTheScaleSayHowManyDigitsThereAre) {
  const double distance = 0x1p-30;
  EXPECT_TRUE(are_missed(distance));
  EXPECT_TRUE(are_missed(distance, distance / 3.1));
  EXPECT_FALSE(are_missed(distance, distance / 2.9));
  EXPECT_TRUE(are_missed(distance, 0, distance / (16.1 * 0x1p-53)));
  EXPECT_FALSE(are_missed(distance, 0, distance / (15.9 * 0x1p-53)));
}

TEST(DigitsTest, AHundredthOfTheLargestScaleCountsForEveryElement) {
  Derivatives reference = known_derivatives(std::vector<double>(4, 1 + 0x1p-30));
  reference.scale = {0x1p29, 0, 0, 0};
  EXPECT_EQ(narrowed_to({1, 1, 1, 1}, reference, DType::kFloat64, 3), std::nullopt);
}

TEST(DigitsTest, WhatIsUncertainAnywayTellsNothing) {
  const std::vector<double> claimed = rounded(DType::kFloat16);
  const auto uncertain = [&](double part) {
    return [&claimed, part] {
      std::vector<double> size = kValues;
      for (std::size_t i = 0; i < size.size(); ++i) size[i] = part * std::abs(claimed[i] - size[i]);
      return size;
    };
  };
  const Derivatives reference = known_derivatives(kValues);
  EXPECT_EQ(narrowed_to(claimed, reference, DType::kFloat32, 3, uncertain(0.5)), DType::kFloat16);
  EXPECT_EQ(narrowed_to(claimed, reference, DType::kFloat32, 3, uncertain(2)), std::nullopt);
}

TEST(DigitsTest, WithoutASuspicionTheUncertaintyIsNotAskedFor) {
  const auto never = []() -> std::vector<double> {
    ADD_FAILURE();
    return {};
  };
  const std::vector<double> simple = {1, -2, 0.5, 3, 0.25};
  EXPECT_EQ(narrowed_to(simple, known_derivatives(simple), DType::kFloat32, 3, never),
            std::nullopt);
}

}  // namespace
}  // namespace fluidcore::gradcheck
