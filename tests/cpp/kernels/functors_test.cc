#include "fluidcore/kernels/functors.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/numbers.h"

namespace fluidcore {
namespace {

using Limits = std::numeric_limits<std::int32_t>;

TEST(Functors, IntegersWrapAround) {
  EXPECT_EQ(Add()(Limits::max(), 1), Limits::min());
  EXPECT_EQ(Sub()(Limits::min(), 1), Limits::max());
  EXPECT_EQ(Mul()(Limits::max(), 2), -2);
}

TEST(Functors, IntegerDivisionNeverTraps) {
  EXPECT_EQ(Div()(7, 0), 0);
  EXPECT_EQ(Div()(-7, 2), -3);
  EXPECT_EQ(Div()(Limits::min(), -1), Limits::min());
}

TEST(Functors, NaNIsKept) {
  EXPECT_TRUE(std::isnan(Relu()(kDoubleNaN)));
  EXPECT_TRUE(std::isnan(Max()(kDoubleNaN, 1.0)));
  EXPECT_TRUE(std::isnan(Max()(1.0, kDoubleNaN)));
  EXPECT_TRUE(std::isnan(Min()(kDoubleNaN, 1.0)));
  EXPECT_TRUE(std::isnan(Min()(1.0, kDoubleNaN)));
  EXPECT_TRUE(std::isnan((Clip{-1, 1}(kDoubleNaN))));
}

TEST(Functors, TheGradientOfAPowerIsFiniteAtZero) {
  EXPECT_EQ(PowGradX()(0.0, 0.0, 1.0), 0.0);
  EXPECT_EQ(PowGradY()(0.0, 2.0, 1.0), 0.0);
}

TEST(Functors, GeluIsExactOnBothSides) {
  for (int i = 1; i < 60'000; ++i) {
    const float x = 1e-4F * static_cast<float>(i);
    const double below = 0.5 * std::erfc(-static_cast<double>(x) / std::sqrt(2.0));
    const double above = 0.5 * std::erfc(static_cast<double>(x) / std::sqrt(2.0));
    const float unit =
        std::nextafter(static_cast<float>(x * below), 10.0F) - static_cast<float>(x * below);
    EXPECT_LE(std::abs(GeluErf()(x) - x * below), 2.0 * unit) << x;
    EXPECT_LE(std::abs(GeluErf()(-x) + x * above), 5e-6 * x * above) << x;
  }
  EXPECT_EQ(GeluErf()(-7.0F), 0.0F);
  EXPECT_EQ(GeluErf()(-1000.0), 0.0);
}

TEST(Functors, GeluReachesInfinityAndKeepsNaN) {
  EXPECT_EQ(GeluErf()(kDoubleInfinity), kDoubleInfinity);
  EXPECT_EQ(GeluErf()(-kDoubleInfinity), 0.0);
  EXPECT_EQ(GeluErf()(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(GeluErf()(kDoubleNaN)));
  EXPECT_TRUE(std::isnan(GeluErf()(kNaN)));
}

TEST(Convert, ToIntegersStaysInRange) {
  EXPECT_EQ(convert<std::int32_t>(2.9), 2);
  EXPECT_EQ(convert<std::int32_t>(-2.9), -2);
  EXPECT_EQ(convert<std::int32_t>(1e20), Limits::max());
  EXPECT_EQ(convert<std::int32_t>(-1e20F), Limits::min());
  EXPECT_EQ(convert<std::int64_t>(0x1p63), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(convert<std::int32_t>(kDoubleNaN), 0);
}

TEST(Convert, ToBoolAsksForZero) {
  EXPECT_TRUE(convert<bool>(0.5F));
  EXPECT_FALSE(convert<bool>(0));
}

}  // namespace
}  // namespace fluidcore
