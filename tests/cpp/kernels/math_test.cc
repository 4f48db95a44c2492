#include "fluidcore/kernels/math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/numbers.h"
#include "kernels/ulps.h"

namespace fluidcore::math {
namespace {

TEST(Math, FloatFunctionsAreWithinTwoUnitsInTheLastPlace) {
  for (float x = -87.0F; x < 88.5F; x += 0.0037F) {
    EXPECT_LE(ulps(exp(x), std::exp(static_cast<double>(x))), 2.0) << x;
  }
  for (float x = -9.5F; x < 9.5F; x += 0.00037F) {
    EXPECT_LE(ulps(tanh(x), std::tanh(static_cast<double>(x))), 2.0) << x;
    EXPECT_LE(ulps(erf(x), std::erf(static_cast<double>(x))), 2.0) << x;
  }
}

TEST(Math, DoubleFunctionsAreWithinOneAndThreeUnitsInTheLastPlace) {
  for (double x = -708.0; x < 709.7; x += 0.00713) {
    EXPECT_LE(ulps(exp(x), std::exp(static_cast<long double>(x))), 1.0) << x;
  }
  for (double x = -22.5; x < 22.5; x += 0.000317) {
    EXPECT_LE(ulps(tanh(x), std::tanh(static_cast<long double>(x))), 3.0) << x;
  }
  for (double x = 1; x > 1e-310; x *= 0.77) {
    EXPECT_LE(ulps(exp(-x), std::exp(static_cast<long double>(-x))), 1.0) << x;
    EXPECT_LE(ulps(tanh(x), std::tanh(static_cast<long double>(x))), 3.0) << x;
  }
}

TEST(Math, DifferencesFromTheirLimitsKeepTheirDigits) {
  for (double x = 1; x > 1e-80; x *= 0.93) {
    const long double exact = static_cast<long double>(x);
    EXPECT_LE(ulps(short_log1p(x), std::log1p(exact)), 2.0) << x;
    EXPECT_LE(ulps(softplus(std::log(x)), std::log1p(std::exp(std::log(x) * 1.0L))), 3.0) << x;
    if (x > 0.01) {
      EXPECT_LE(ulps(tanh_shrink(x), exact - std::tanh(exact)), 16.0) << x;
    }
    const long double z = exact * exact;
    const long double series = exact * z * (1 / 3.0L - z * (2 / 15.0L - z * 17 / 315.0L));
    if (x < 1e-3) {
      EXPECT_LE(ulps(tanh_shrink(x), series), 4.0) << x;
    }
  }
  for (float x = 1; x > 1e-12F; x *= 0.93F) {
    const double exact = x;
    EXPECT_LE(ulps(short_log1p(x), std::log1p(exact)), 2.0) << x;
    if (x > 1e-3F) {
      EXPECT_LE(ulps(tanh_shrink(x), exact - std::tanh(exact)), 4.0) << x;
    }
  }
}

TEST(Math, LogIsWithinOneUnitInTheLastPlaceForEveryMagnitude) {
  for (std::uint32_t bits = 1; bits < 0x7f800000u; bits += 7919) {
    const auto x = std::bit_cast<float>(bits);
    EXPECT_LE(ulps(log(x), std::log(static_cast<double>(x))), 1.0) << x;
  }
  for (double x = 1e-320; x < 1e308; x *= 1.00713) {
    EXPECT_LE(ulps(log(x), std::log(static_cast<long double>(x))), 1.0) << x;
  }
  for (double x = 0.5; x < 2; x += 0.00007) {
    EXPECT_LE(ulps(log(x), std::log(static_cast<long double>(x))), 1.0) << x;
  }
}

TEST(Math, LogReachesItsLimits) {
  EXPECT_EQ(log(0.0F), -kInfinity);
  EXPECT_EQ(log(-0.0), -kDoubleInfinity);
  EXPECT_EQ(log(kInfinity), kInfinity);
  EXPECT_EQ(log(1.0F), 0.0F);
  EXPECT_TRUE(std::isnan(log(-1.0F)));
  EXPECT_TRUE(std::isnan(log(-kInfinity)));
  EXPECT_TRUE(std::isnan(log(kNaN)));
}

TEST(Math, DoubleFunctionsReachTheirLimits) {
  EXPECT_TRUE(std::isnan(exp(kDoubleNaN)));
  EXPECT_TRUE(std::isnan(tanh(kDoubleNaN)));
  EXPECT_EQ(exp(kDoubleInfinity), kDoubleInfinity);
  EXPECT_EQ(exp(709.79), kDoubleInfinity);
  EXPECT_EQ(exp(-kDoubleInfinity), 0.0);
  EXPECT_EQ(exp(-744.0), std::exp(-744.0));  // subnormal
  EXPECT_EQ(exp(0.0), 1.0);
  EXPECT_EQ(tanh(kDoubleInfinity), 1.0);
  EXPECT_EQ(tanh(-kDoubleInfinity), -1.0);
  EXPECT_EQ(tanh(std::numeric_limits<double>::denorm_min()),
            std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::signbit(tanh(-0.0)));
  EXPECT_EQ(sigmoid(-kDoubleInfinity), 0.0);
  EXPECT_EQ(sigmoid(kDoubleInfinity), 1.0);
}

TEST(Math, FloatFunctionsKeepNaN) {
  EXPECT_TRUE(std::isnan(exp(kNaN)));
  EXPECT_TRUE(std::isnan(tanh(kNaN)));
  EXPECT_TRUE(std::isnan(erf(kNaN)));
}

TEST(Math, FloatFunctionsReachTheirLimits) {
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(89.0F), kInfinity);
  EXPECT_EQ(exp(-kInfinity), 0.0F);
  EXPECT_EQ(exp(-103.0F), std::exp(-103.0F));  // subnormal
  EXPECT_EQ(exp(0.0F), 1.0F);
  EXPECT_EQ(tanh(kInfinity), 1.0F);
  EXPECT_EQ(tanh(-kInfinity), -1.0F);
  EXPECT_EQ(erf(kInfinity), 1.0F);
  EXPECT_EQ(erf(-kInfinity), -1.0F);
  EXPECT_EQ(sigmoid(-kInfinity), 0.0F);
  EXPECT_EQ(sigmoid(kInfinity), 1.0F);
}

}  // namespace
}  // namespace fluidcore::math
