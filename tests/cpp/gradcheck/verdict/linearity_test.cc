#include "fluidcore/gradcheck/verdict/linearity.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Linearity, TheFactorRoundsNothing) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16}) {
    const Tensor v = tensor_of({0.1, -3, 0}, dtype);
    const Tensor scaled = scaled_exactly(v);
    EXPECT_EQ(scaled.dtype(), dtype);
    for (std::int64_t i = 0; i < v.size(); ++i) {
      EXPECT_EQ(scaled.get_float_element(i), -v.get_float_element(i) / 64);
    }
  }
}

TEST(Linearity, OneDigitIsADifference) {
  const Tensor before = tensor_of({64, 16});
  EXPECT_TRUE(is_scaled_exactly(tensor_of({-1, -0.25}), before));
  EXPECT_FALSE(is_scaled_exactly(tensor_of({-1, -0.25 - 0x1p-54}), before));
  EXPECT_FALSE(is_scaled_exactly(tensor_of({-1, 0.25}), before));
  EXPECT_FALSE(is_scaled_exactly(tensor_of({-1, std::nan("")}), before));
}

TEST(Linearity, WhatTheDtypeDoesNotHoldIsNone) {
  EXPECT_TRUE(
      is_scaled_exactly(tensor_of({-kInfinity, 1, 0}), tensor_of({1e308, std::nan(""), 1e-310})));
  EXPECT_TRUE(is_scaled_exactly(tensor_of({-1.0e-7}, DType::kFloat16),
                                tensor_of({6.0e-8}, DType::kFloat16)));
}

}  // namespace
}  // namespace fluidcore::gradcheck
