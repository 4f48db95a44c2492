#include "fluidcore/gradcheck/verdict/both_sides.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace fluidcore::gradcheck {
namespace {

// What a measurement finds of the one derivative.
struct Finding {
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

Finding smooth_at(double value, double error = 1e-12) {
  return {value, value, error};
}
Finding kink_of(double low, double high) {
  return {low, high, 1e-12, kKink};
}

// The measurements, in the order in which they are taken.
struct Findings {
  Finding first;
  Finding central;
  Finding right;
  Finding left;
};

enum class Fate { kProven, kRefuted, kOpen };

// What becomes of a claim.
Fate fate_of(double value, const Findings& measured) {
  Derivatives reference = measured.first.derivatives();
  const Claim claim{0, {value}, {1e-9}};
  const Rules rules;
  Evidence evidence(claim, rules, reference);
  const Question question;
  Remeasure measure(
      [&](const Columns& /*columns*/, const Steps& steps, const Question& /*asked*/) {
        const int side = steps.approach.side;
        return (side == 0  ? measured.central
                : side > 0 ? measured.right
                           : measured.left)
            .derivatives();
      },
      question, question);
  look_at_both_sides(evidence, measure, {0}, false);
  if (!std::isfinite(reference.error[0])) return Fate::kOpen;
  return evidence.is_refuted(0) ? Fate::kRefuted : Fate::kProven;
}

TEST(BothSides, RefuteWhatTheFirstMeasurementRefutes) {
  const Findings alike = {smooth_at(2), smooth_at(2), smooth_at(2), smooth_at(2)};
  EXPECT_EQ(fate_of(1, alike), Fate::kRefuted);
  EXPECT_EQ(fate_of(2, alike), Fate::kProven);
}

TEST(BothSides, OfTwoSmoothMeasurementsThatDifferNeitherIsTrusted) {
  EXPECT_EQ(fate_of(1, {smooth_at(2), smooth_at(1), smooth_at(1), smooth_at(1)}), Fate::kOpen);
}

TEST(BothSides, LongerErrorBarsProveNothingThatTheFirstMeasurementRefutes) {
  const Findings vaguer = {smooth_at(2, 2e-7), smooth_at(2 + 1e-7, 1e-6), smooth_at(2, 1e-6),
                           smooth_at(2, 1e-6)};
  EXPECT_EQ(fate_of(2 + 5e-7, vaguer), Fate::kProven);
  EXPECT_EQ(fate_of(2 + 2.5e-6, vaguer), Fate::kOpen);
  EXPECT_EQ(fate_of(2 + 2e-5, vaguer), Fate::kRefuted);
}

TEST(BothSides, WhatLiesBetweenThemIsRight) {
  const Findings bent = {kink_of(1, 3), kink_of(1, 3), smooth_at(3), smooth_at(1)};
  EXPECT_EQ(fate_of(2.5, bent), Fate::kProven);
  EXPECT_EQ(fate_of(3.5, bent), Fate::kRefuted);
}

TEST(BothSides, ThatTheFirstMeasurementHasNotFoundAreChance) {
  EXPECT_EQ(fate_of(3.5, {kink_of(1, 2), kink_of(1, 3), smooth_at(3), smooth_at(2.5)}),
            Fate::kOpen);
  EXPECT_EQ(fate_of(3.5, {kink_of(1, 3), kink_of(1, 2), smooth_at(3), smooth_at(2.5)}),
            Fate::kOpen);
}

TEST(BothSides, RefuteNothingAcrossAJump) {
  const Finding jump{1, 3, 1e-12, kJump};
  EXPECT_EQ(fate_of(3.5, {kink_of(1, 3), jump, smooth_at(3), smooth_at(1)}), Fate::kOpen);
}

TEST(BothSides, ThatAreAlikeAreNoKinkThatCentralDifferencesMayHaveSeen) {
  EXPECT_EQ(fate_of(2.5, {kink_of(1, 3), kink_of(1, 3), smooth_at(2), smooth_at(2)}), Fate::kOpen);
}

TEST(BothSides, ThatAreAlikeMayKnowMoreThanCentralDifferences) {
  const Findings vague = {smooth_at(2, 1e-5), smooth_at(2, 1e-5), smooth_at(2), smooth_at(2)};
  EXPECT_EQ(fate_of(2, vague), Fate::kProven);
  EXPECT_EQ(fate_of(2 + 1e-6, vague), Fate::kRefuted);
}

TEST(BothSides, ShowWhereTheErrorBarOfCentralDifferencesIsTooShort) {
  const Finding sides = smooth_at(2 + 4e-6, 1e-6);
  EXPECT_EQ(fate_of(2 + 4e-6, {smooth_at(2), smooth_at(2), sides, sides}), Fate::kOpen);
  EXPECT_EQ(fate_of(2 + 2e-5, {smooth_at(2), smooth_at(2), sides, sides}), Fate::kRefuted);
}

}  // namespace
}  // namespace fluidcore::gradcheck
