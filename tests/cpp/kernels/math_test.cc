#include "fluidcore/kernels/math.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace fluidcore::math {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// How far `value` is from `exact`, in units in the last place of float.
double ulps(float value, double exact) {
  const float magnitude = std::abs(static_cast<float>(exact));
  return std::abs(value - exact) / (std::nextafter(magnitude, kInfinity) - magnitude);
}

TEST(Math, FloatFunctionsAreWithinTwoUnitsInTheLastPlace) {
  for (float x = -87.0F; x < 88.5F; x += 0.0037F) {
    EXPECT_LE(ulps(exp(x), std::exp(static_cast<double>(x))), 2.0) << x;
  }
  for (float x = -9.5F; x < 9.5F; x += 0.00037F) {
    EXPECT_LE(ulps(tanh(x), std::tanh(static_cast<double>(x))), 2.0) << x;
    EXPECT_LE(ulps(erf(x), std::erf(static_cast<double>(x))), 2.0) << x;
  }
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
