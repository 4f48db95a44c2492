#include "fluidcore/gradcheck/function/rounding.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/infinity.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

TEST(Rounding, KnowsTheRoundoffOfFloatingDtypesOnly) {
  EXPECT_EQ(unit_roundoff(DType::kFloat64), 0x1p-53);
  EXPECT_EQ(unit_roundoff(DType::kFloat32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(DType::kFloat16), 0x1p-11);
  EXPECT_EQ(unit_roundoff(DType::kBFloat16), 0x1p-8);
  EXPECT_THROW(unit_roundoff(DType::kInt64), InvalidArgument);
  EXPECT_THROW(round_to(DType::kBool, 1), InvalidArgument);
}

TEST(Rounding, RoundsOnceToNearestEven) {
  EXPECT_EQ(round_to(DType::kFloat32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(round_to(DType::kFloat16, 1 + 0x1p-11), 1);
  EXPECT_EQ(round_to(DType::kFloat16, 1 + 3 * 0x1p-11), 1 + 0x1p-9);
  // By way of float, these would be ties, and go to even.
  EXPECT_EQ(round_to(DType::kFloat16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DType::kFloat16, -1 - 0x1p-11 - 0x1p-40), -1 - 0x1p-10);
  EXPECT_EQ(round_to(DType::kFloat16, 1 + 3 * 0x1p-11 - 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DType::kBFloat16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
}

TEST(Rounding, KeepsWhatIsNoNumber) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    EXPECT_EQ(round_to(dtype, -kInfinity), -kInfinity);
    EXPECT_TRUE(std::isnan(round_to(dtype, std::nan(""))));
    EXPECT_EQ(round_to(dtype, 0), 0);
  }
  EXPECT_EQ(round_to(DType::kFloat16, 1e300), kInfinity);
}

TEST(Rounding, FindsThePowerOfTwoBelow) {
  EXPECT_EQ(power_of_two_below(1), 1);
  EXPECT_EQ(power_of_two_below(std::nextafter(1, 0)), 0.5);
  EXPECT_EQ(power_of_two_below(7), 4);
  EXPECT_EQ(power_of_two_below(0x1p-1074), 0x1p-1074);
}

TEST(Rounding, TakesTheRootMeanSquareOfAnyFiniteNumbers) {
  EXPECT_DOUBLE_EQ(root_mean_square(tensor_of({3, 4})), std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(root_mean_square(tensor_of({3e300, 4e300})), 1e300 * std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(root_mean_square(tensor_of({3e-300, 4e-300})), 1e-300 * std::sqrt(12.5));
  EXPECT_EQ(root_mean_square(tensor_of({2, std::nan(""), -2, HUGE_VAL})), 2);
  EXPECT_EQ(root_mean_square(tensor_of({0, 0})), 1);
  EXPECT_EQ(root_mean_square(tensor_of({})), 1);
}

}  // namespace
}  // namespace fluidcore::gradcheck
