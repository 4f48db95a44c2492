#include "fluidcore/base/float16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace fluidcore {
namespace {

template <class Half>
Half from_bits(std::uint32_t bits) {
  Half half;
  half.bits = static_cast<std::uint16_t>(bits);
  return half;
}

// What the bits mean, by the definition of the format.
template <int kFractionBits, int kBias>
double meaning(std::uint32_t bits) {
  constexpr int kMaxExponent = (1 << (15 - kFractionBits)) - 1;
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits & 0x7fffu) >> kFractionBits;
  const double fraction = bits & ((1u << kFractionBits) - 1);
  if (exponent == kMaxExponent) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - kBias - kFractionBits);
  return sign * std::ldexp(fraction + (1 << kFractionBits), exponent - kBias - kFractionBits);
}

// The finite values of the format from 0 up, and what would follow the largest: float values
// halfway or more towards it round to infinity.
template <int kFractionBits, int kBias>
std::vector<double> ladder() {
  std::vector<double> values;
  for (std::uint32_t bits = 0; bits < 0x7fffu; ++bits) {
    const double value = meaning<kFractionBits, kBias>(bits);
    if (!std::isfinite(value)) break;
    values.push_back(value);
  }
  const double step = values.back() - values[values.size() - 2];
  values.push_back(values.back() + step);
  return values;
}

template <class Half, int kFractionBits, int kBias>
void expect_every_pattern_means_what_the_format_says() {
  for (std::uint32_t bits = 0; bits <= 0xffffu; ++bits) {
    const float value = from_bits<Half>(bits);
    const double expected = meaning<kFractionBits, kBias>(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000u) != 0) << bits;
    }
  }
}

template <class Half>
void expect_every_pattern_survives_a_round_trip() {
  for (std::uint32_t bits = 0; bits <= 0xffffu; ++bits) {
    const Half half = from_bits<Half>(bits);
    const Half back{static_cast<float>(half)};
    if (std::isnan(static_cast<float>(half))) {
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      ASSERT_EQ(back.bits, half.bits);
    }
  }
}

// Between each two neighbours: just below the middle, the middle, just above it.
template <class Half, int kFractionBits, int kBias>
void expect_rounding_to_nearest_even() {
  const std::vector<double> values = ladder<kFractionBits, kBias>();
  for (std::uint32_t lower = 0; lower + 1 < values.size(); ++lower) {
    const auto middle = static_cast<float>((values[lower] + values[lower + 1]) / 2);
    const auto bits = [](float value) { return std::uint32_t{Half(value).bits}; };
    const std::uint32_t even = lower % 2 == 0 ? lower : lower + 1;
    if (!std::isfinite(middle)) break;
    if (static_cast<double>(middle) != (values[lower] + values[lower + 1]) / 2) continue;
    ASSERT_EQ(bits(middle), even) << middle;
    ASSERT_EQ(bits(-middle), even | 0x8000u) << middle;
    ASSERT_EQ(bits(std::nextafter(middle, 0.0f)), lower) << middle;
    const float above = std::nextafter(middle, std::numeric_limits<float>::infinity());
    if (std::isfinite(above)) {
      ASSERT_EQ(bits(above), lower + 1) << middle;
    }
  }
}

TEST(Float16, EveryPatternMeansWhatIeeeSays) {
  expect_every_pattern_means_what_the_format_says<Float16, 10, 15>();
}

TEST(Float16, EveryPatternSurvivesARoundTrip) {
  expect_every_pattern_survives_a_round_trip<Float16>();
}

TEST(Float16, RoundsToNearestEvenBetweenEveryTwoNeighbours) {
  expect_rounding_to_nearest_even<Float16, 10, 15>();
}

TEST(Float16, RoundsSmallNumbersToSubnormals) {
  EXPECT_EQ(Float16(0x1p-24f).bits, 1);      // the smallest
  EXPECT_EQ(Float16(0x1p-25f).bits, 0);      // halfway to 0: even
  EXPECT_EQ(Float16(0x1.002p-25f).bits, 1);  // a little more
  EXPECT_EQ(Float16(0x1.8p-24f).bits, 2);    // halfway between 1 and 2
  EXPECT_EQ(Float16(-0x1p-30f).bits, 0x8000);
  EXPECT_EQ(Float16(0x1.ff8p-15f).bits, 0x3ff);  // the largest subnormal
  EXPECT_EQ(Float16(0x1.ffcp-15f).bits, 0x400);  // halfway to the smallest normal number
}

TEST(Float16, OverflowsToInfinity) {
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Float16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(Float16, KeepsNan) {
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(std::numeric_limits<float>::quiet_NaN()))));
  // Payload only in bits that are cut off.
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(BFloat16, EveryPatternMeansTheUpperHalfOfAFloat) {
  expect_every_pattern_means_what_the_format_says<BFloat16, 7, 127>();
}

TEST(BFloat16, EveryPatternSurvivesARoundTrip) {
  expect_every_pattern_survives_a_round_trip<BFloat16>();
}

TEST(BFloat16, RoundsToNearestEvenBetweenEveryTwoNeighbours) {
  expect_rounding_to_nearest_even<BFloat16, 7, 127>();
}

TEST(BFloat16, OverflowsToInfinityAndKeepsNan) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::lowest()).bits, 0xff80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace fluidcore
