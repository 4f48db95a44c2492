#include "fluidcore/gradcheck/function/random_values.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_runner.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::ElementsAre;

std::vector<double> gaussian_numbers(std::uint64_t seed, const char* name, const char* purpose) {
  return values_of(gaussian({{8}, DType::kFloat64}, random_sequence(seed, name, purpose)));
}

TEST(RandomValuesTest, EverySeedNameAndPurposeHasItsOwn) {
  const std::vector<double> some = gaussian_numbers(1, "X", "cotangent");
  EXPECT_EQ(some, gaussian_numbers(1, "X", "cotangent"));
  EXPECT_NE(some, gaussian_numbers(2, "X", "cotangent"));
  EXPECT_NE(some, gaussian_numbers(1, "Y", "cotangent"));
  EXPECT_NE(some, gaussian_numbers(1, "X", "dither"));
  EXPECT_NE(gaussian_numbers(1, "Xd", "ither"), gaussian_numbers(1, "X", "dither"));
}

TEST(RandomValuesTest, GaussianNumbersHaveMeanZeroAndDeviationOne) {
  const Tensor many = gaussian({{10000}, DType::kFloat32}, random_sequence(1, "X", "test"));
  double sum = 0;
  double squares = 0;
  for (const double value : values_of(many)) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_NEAR(squares / 10000, 1, 0.05);
}

TEST(RandomValuesTest, ADitherIsRelativeAndRounded) {
  const Tensor x = tensor_of({3}, {0, 1, -100}, DType::kFloat16);
  const Tensor moved = dithered(x, 0.01, random_sequence(1, "X", "test"));
  EXPECT_EQ(moved.dtype(), DType::kFloat16);
  EXPECT_EQ(moved.get_float_element(0), 0);
  for (int i = 1; i < 3; ++i) {
    const double before = x.get_float_element(i);
    EXPECT_NE(moved.get_float_element(i), before);
    EXPECT_LE(std::abs(moved.get_float_element(i) / before - 1), 0.011);
  }
}

TEST(RandomValuesTest, ZerosAloneGetSmallPositiveNumbers) {
  const Tensor moved = dithered(tensor_of({20}, std::vector<double>(20, 0.0)), 0.01, {.key = 1});
  for (const double value : values_of(moved)) {
    EXPECT_GT(value, 0);
    EXPECT_LE(value, 0.01);
  }
}

TEST(RandomValuesTest, IntegersStayAsTheyAre) {
  const Tensor ids = tensor_of({2}, {3, 4}, DType::kInt64);
  EXPECT_THAT(values_of(dithered(ids, 1, {})), ElementsAre(3, 4));
  EXPECT_EQ(converted(ids, DType::kFloat64).dtype(), DType::kInt64);
}

TEST(RandomValuesTest, ConversionRoundsOnce) {
  // Halfway between two float16 numbers but for a bit that float32 cannot hold.
  const double value = 1 + 0x1p-11 + 0x1p-40;
  const Tensor rounded = converted(tensor_of({1}, {value}), DType::kFloat16);
  EXPECT_EQ(rounded.get_float_element(0), 1 + 0x1p-10);
}

}  // namespace
}  // namespace fluidcore::gradcheck
