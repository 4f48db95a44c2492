#include "fluidcore/kernels/power.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "kernels/numbers.h"

namespace fluidcore::math {
namespace {

constexpr std::array kSpecial{0.0F,      -0.0F,      1.0F,       -1.0F,       2.0F,  -2.0F,
                              3.0F,      -3.0F,      0.5F,       -0.5F,       2.5F,  -2.5F,
                              1e-40F,    -1e-40F,    8388607.0F, 16777215.0F, 3e38F, -3e38F,
                              kInfinity, -kInfinity, kNaN};

// Any bits, but no NaN.
float any_float(std::mt19937& bits) {
  const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits()));
  return std::isnan(x) ? 1.5F : x;
}

TEST(Power, HasTheLimitsOfTheCLibrary) {
  for (const float x : kSpecial) {
    for (const float y : kSpecial) {
      const float expected = std::pow(x, y);
      const float value = pow(x, y);
      EXPECT_EQ(std::isnan(value), std::isnan(expected)) << x << ", " << y;
      if (std::isnan(expected)) continue;
      EXPECT_FLOAT_EQ(value, expected) << x << ", " << y;
      EXPECT_EQ(std::signbit(value), std::signbit(expected)) << x << ", " << y;
    }
  }
}

TEST(Power, IsWithinOneUnitInTheLastPlace) {
  std::mt19937 bits(1);
  std::uniform_real_distribution<float> exponents(-30, 30);
  for (int i = 0; i < 300'000; ++i) {
    const float x = std::abs(any_float(bits));
    const float y = exponents(bits);
    const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
    const auto nearest = static_cast<float>(exact);
    const float value = pow(x, y);
    if (std::isinf(nearest)) {
      EXPECT_EQ(value, nearest) << x << ", " << y;
      continue;
    }
    const float unit = std::nextafter(nearest, kInfinity) - nearest;
    EXPECT_LE(std::abs(value - exact), unit) << x << ", " << y;
  }
}

TEST(SmallPower, IsThatOfTheCLibrary) {
  EXPECT_FALSE(is_small_power(-0.5));
  EXPECT_FALSE(is_small_power(1.3));
  EXPECT_FALSE(is_small_power(4.0));
  std::mt19937 bits(3);
  for (int halves = 0; halves <= 7; ++halves) {
    const double y = 0.5 * halves;
    EXPECT_TRUE(is_small_power(y));
    const auto check = [&](float x) {
      const double exact = std::pow(static_cast<double>(x), y);
      const auto nearest = static_cast<float>(exact);
      const float value = small_power(x, halves);
      EXPECT_EQ(std::isnan(value), std::isnan(nearest)) << x << ", " << y;
      if (std::isnan(nearest)) return;
      EXPECT_EQ(std::signbit(value), std::signbit(nearest)) << x << ", " << y;
      EXPECT_EQ(std::isinf(value), std::isinf(nearest)) << x << ", " << y;
      if (std::isinf(nearest)) return;
      const float unit = std::nextafter(std::abs(nearest), kInfinity) - std::abs(nearest);
      EXPECT_LE(std::abs(value - exact), 2 * unit) << x << ", " << y;
      EXPECT_DOUBLE_EQ(small_power(static_cast<double>(x), halves), exact) << x << ", " << y;
    };
    for (const float x : kSpecial) check(x);
    for (int i = 0; i < 20'000; ++i) check(any_float(bits));
  }
}

TEST(Remainder, IsThatOfTheCLibrary) {
  std::mt19937 bits(2);
  const auto check = [](float x, float y) {
    const float expected = std::fmod(x, y);
    const float value = fmod(x, y);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << x << ", " << y;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected))
          << x << ", " << y;
    }
  };
  for (const float x : kSpecial) {
    for (const float y : kSpecial) check(x, y);
  }
  for (int i = 0; i < 300'000; ++i) {
    const float y = any_float(bits);
    check(any_float(bits), y);
    const auto times = static_cast<float>(bits() >> (bits() % 32));
    check(y * times, y);
    check(std::nextafter(y * times, 0.0F), y);
  }
}

}  // namespace
}  // namespace fluidcore::math
