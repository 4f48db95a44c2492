#include "fluidcore/kernels/trigonometry.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "kernels/numbers.h"
#include "kernels/ulps.h"

namespace fluidcore::math {
namespace {

TEST(Trigonometry, IsWithinTwoUnitsInTheLastPlaceForEveryMagnitude) {
  for (std::uint32_t bits = 1; bits < 0x7f800000u; bits += 1009) {
    const float x = (bits & 1u) != 0 ? std::bit_cast<float>(bits) : -std::bit_cast<float>(bits);
    EXPECT_LE(ulps(sin(x), std::sin(static_cast<double>(x))), 2.0) << x;
    EXPECT_LE(ulps(cos(x), std::cos(static_cast<double>(x))), 2.0) << x;
  }
}

TEST(Trigonometry, KeepsItsDigitsNextToMultiplesOfHalfPi) {
  for (double turn = 1; turn < 1e36; turn *= 1.37) {
    const auto x = static_cast<float>(std::round(turn) * 1.57079632679489661923);
    EXPECT_LE(ulps(sin(x), std::sin(static_cast<double>(x))), 2.0) << x;
    EXPECT_LE(ulps(cos(x), std::cos(static_cast<double>(x))), 2.0) << x;
  }
  // Nearer to a multiple than any other float: 16367173 * 2^72 (Muller, "Elementary Functions").
  const auto nearest = static_cast<float>(std::ldexp(16367173.0, 72));
  EXPECT_LE(ulps(cos(nearest), std::cos(static_cast<double>(nearest))), 2.0);
}

TEST(Trigonometry, ReachesItsLimits) {
  EXPECT_TRUE(std::isnan(sin(kInfinity)));
  EXPECT_TRUE(std::isnan(cos(-kInfinity)));
  EXPECT_TRUE(std::isnan(sin(kNaN)));
  EXPECT_EQ(cos(0.0F), 1.0F);
  EXPECT_EQ(sin(0.0F), 0.0F);
  EXPECT_TRUE(std::signbit(sin(-0.0F)));
  EXPECT_EQ(sin(1e-42F), 1e-42F);
}

}  // namespace
}  // namespace fluidcore::math
