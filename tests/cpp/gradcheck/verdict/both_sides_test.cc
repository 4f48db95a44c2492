#include "fluidcore/gradcheck/verdict/both_sides.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace fluidcore::gradcheck {
namespace {

// What a measurement finds of the one derivative.
struct Measured {
  double low;
  double high;
  double error = 1e-12;
  std::uint8_t flags = 0;

  Derivatives derivatives() const {
    Derivatives found(1, 1);
    found.value = {(low + high) / 2};
    found.low = {low};
    found.high = {high};
    found.error = {error};
    found.scale = {std::max(std::abs(low), std::abs(high))};
    found.flags = {flags};
    return found;
  }
};

Measured smooth(double value, double error = 1e-12) {
  return {value, value, error};
}
Measured kink(double low, double high) {
  return {low, high, 1e-12, kKink};
}

// The measurements, in the order in which they are taken.
struct Measurements {
  Measured first;
  Measured central;
  Measured right;
  Measured left;
};

enum class Fate { kProven, kRefuted, kOpen };

// What becomes of a claim.
Fate claim(double value, const Measurements& measured) {
  Derivatives reference = measured.first.derivatives();
  const Claim claim{0, {value}, {1e-9}};
  const Rules rules;
  Evidence evidence(claim, rules, reference);
  Remeasure measure(
      [&](const Columns& /*columns*/, const Steps& steps, Noise /*noise*/) {
        const int side = steps.approach.side;
        return (side == 0  ? measured.central
                : side > 0 ? measured.right
                           : measured.left)
            .derivatives();
      },
      false);
  look_at_both_sides(evidence, measure, {0}, false);
  if (evidence.is_open(0)) return Fate::kOpen;
  return evidence.is_refuted(0) ? Fate::kRefuted : Fate::kProven;
}

TEST(BothSides, RefuteWhatTheFirstMeasurementRefutes) {
  const Measurements alike = {smooth(2), smooth(2), smooth(2), smooth(2)};
  EXPECT_EQ(claim(1, alike), Fate::kRefuted);
  EXPECT_EQ(claim(2, alike), Fate::kProven);
}

TEST(BothSides, OfTwoSmoothMeasurementsThatDifferNeitherIsTrusted) {
  EXPECT_EQ(claim(1, {smooth(2), smooth(1), smooth(1), smooth(1)}), Fate::kOpen);
}

TEST(BothSides, MeasurementsThatAgreeKeepTheirErrorBars) {
  EXPECT_EQ(claim(2 + 2.5e-6, {smooth(2, 2e-7), smooth(2 + 1e-7, 1e-6), smooth(2), smooth(2)}),
            Fate::kProven);
}

TEST(BothSides, WhatLiesBetweenThemIsRight) {
  const Measurements bent = {kink(1, 3), kink(1, 3), smooth(3), smooth(1)};
  EXPECT_EQ(claim(2.5, bent), Fate::kProven);
  EXPECT_EQ(claim(3.5, bent), Fate::kRefuted);
}

TEST(BothSides, ThatTheFirstMeasurementHasNotFoundAreChance) {
  EXPECT_EQ(claim(3.5, {kink(1, 2), kink(1, 3), smooth(3), smooth(2.5)}), Fate::kOpen);
  EXPECT_EQ(claim(3.5, {kink(1, 3), kink(1, 2), smooth(3), smooth(2.5)}), Fate::kOpen);
}

TEST(BothSides, RefuteNothingAcrossAJump) {
  const Measured jump{1, 3, 1e-12, kJump};
  EXPECT_EQ(claim(3.5, {kink(1, 3), jump, smooth(3), smooth(1)}), Fate::kOpen);
}

TEST(BothSides, ThatAreAlikeAreNoKinkThatCentralDifferencesMayHaveSeen) {
  EXPECT_EQ(claim(2.5, {kink(1, 3), kink(1, 3), smooth(2), smooth(2)}), Fate::kOpen);
}

TEST(BothSides, ShowWhereTheErrorBarOfCentralDifferencesIsTooShort) {
  const Measured sides = smooth(2 + 4e-6, 1e-6);
  EXPECT_EQ(claim(2 + 4e-6, {smooth(2), smooth(2), sides, sides}), Fate::kProven);
  EXPECT_EQ(claim(2 + 2e-5, {smooth(2), smooth(2), sides, sides}), Fate::kRefuted);
}

}  // namespace
}  // namespace fluidcore::gradcheck
