#include "fluidcore/gradcheck/verdict/infinite.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/gradcheck/function/infinity.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Of the square root at 0, 1 and 4.
Infinite root(const std::vector<double>& claimed, DType dtype = DType::kFloat64) {
  ToyFunction f =
      ToyFunction::elementwise(tensor_of({0, 1, 4}, dtype), [](double x) { return std::sqrt(x); });
  return check_infinite(f, 0, claimed, {{{1, 1, 1}}, {}}, 3);
}

TEST(Infinite, AnInfinityIsOfTheSignOfADerivativeThatTheDtypeCannotHold) {
  for (const double sign : {1, -1}) {
    const double infinite = sign * kInfinity;
    const auto may_be = [&](double low, double high, DType dtype) {
      return sign > 0 ? may_be_infinite(infinite, low, high, dtype)
                      : may_be_infinite(infinite, -high, -low, dtype);
    };
    EXPECT_TRUE(may_be(7e4, 7e4, DType::kFloat16));
    EXPECT_TRUE(may_be(6e4, 7e4, DType::kFloat16));
    EXPECT_TRUE(may_be(65504 * (1 - 0x1p-11), 65504 * (1 - 0x1p-11), DType::kFloat16));
    EXPECT_FALSE(may_be(6e4, 6e4, DType::kFloat16));
    EXPECT_FALSE(may_be(-7e4, -7e4, DType::kFloat16));
    EXPECT_FALSE(may_be(7e4, 7e4, DType::kBFloat16));
    EXPECT_TRUE(may_be(1e39, 1e39, DType::kBFloat16));
    EXPECT_TRUE(may_be(1e39, 1e39, DType::kFloat32));
    EXPECT_FALSE(may_be(1e308, 1e308, DType::kFloat64));
    EXPECT_TRUE(may_be(1, kInfinity, DType::kFloat64));
  }
}

TEST(Infinite, WhatIsFiniteOrNotANumberIsNoInfinity) {
  EXPECT_FALSE(may_be_infinite(kNaN, -kInfinity, kInfinity, DType::kFloat32));
  EXPECT_FALSE(may_be_infinite(1e38, -kInfinity, kInfinity, DType::kFloat32));
}

TEST(Infinite, AFiniteGradientCostsNothing) {
  const Infinite found = root({7, 0.5, 0.25});
  EXPECT_FALSE(found.wrong);
  EXPECT_THAT(found.infinite, IsEmpty());
  EXPECT_EQ(found.evaluations, 0);
}

TEST(Infinite, NothingIsSaidWhereADerivativeHasNoEnd) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    const Infinite found = root({kInfinity, 0.5, 0.25}, dtype);
    EXPECT_FALSE(found.wrong);
    EXPECT_THAT(found.infinite, ElementsAre(1, 0, 0));
    EXPECT_GT(found.evaluations, 0);
  }
}

TEST(Infinite, WhereTheDerivativeIsANumberAnInfinityIsWrong) {
  for (const double infinite : {kInfinity, -kInfinity}) {
    const Infinite found = root({infinite, 0.5, infinite});
    ASSERT_TRUE(found.wrong);
    EXPECT_EQ(found.wrong->element, 2);
    EXPECT_NEAR(found.wrong->derivative, 0.25, 1e-9);
    EXPECT_LT(found.wrong->error, 1e-9);
    EXPECT_THAT(found.infinite, IsEmpty());
  }
}

TEST(Infinite, NoDerivativeIsNotANumber) {
  const Infinite found = root({kNaN, 0.5, kInfinity});
  ASSERT_TRUE(found.wrong);
  EXPECT_EQ(found.wrong->element, 0);
}

TEST(Infinite, SomeOfManyStandForAll) {
  constexpr std::size_t kMany = 1000;
  ToyFunction f = ToyFunction::elementwise(tensor_of(std::vector<double>(kMany, 0)),
                                           [](double x) { return std::sqrt(x); });
  const Infinite found = check_infinite(f, 0, std::vector<double>(kMany, kInfinity),
                                        {{std::vector<double>(kMany, 1)}, {}}, 3);
  EXPECT_FALSE(found.wrong);
  EXPECT_THAT(found.infinite, testing::AllOf(testing::SizeIs(kMany), testing::Each(1)));
  EXPECT_LT(found.evaluations, 16 * 100);
}

TEST(Infinite, AGradientOfAnotherSizeIsRefused) {
  EXPECT_THAT([] { root({kInfinity, 1}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must have 3 elements")));
}

}  // namespace
}  // namespace fluidcore::gradcheck
