#include "fluidcore/gradcheck/difference/slope.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_function.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

ToyFunction elementwise(double (*f)(double), std::vector<double> x) {
  return ToyFunction::elementwise(tensor_of(x), f);
}

TEST(Slope, NeedsSevenEvaluationsOfASmoothFunction) {
  ToyFunction f = elementwise(sine, {0.5, 2});
  const Derivatives found = slope_along(f, {std::vector{1.0, -0.5}}, {3, 1}, 1e-9);
  const double expected = 3 * std::cos(0.5) - 0.5 * std::cos(2);
  EXPECT_EQ(found.evaluations, 7);
  EXPECT_EQ(found.flags[0], 0);
  EXPECT_THAT(found.levels, SizeIs(3));
  EXPECT_NEAR(found.value[0], expected, 1e-11);
  EXPECT_LE(std::abs(found.value[0] - expected), found.error[0]);
  EXPECT_LE(found.error[0], 1e-9);
  EXPECT_EQ(values_of(f.inputs()[0]), (std::vector<double>{0.5, 2}));
}

TEST(Slope, NeedsThreeEvaluationsWhereAClaimAgrees) {
  ToyFunction f = elementwise(sine, {0.5, 2});
  const double expected = 3 * std::cos(0.5) - 0.5 * std::cos(2);
  const auto slope = [&](double claimed) {
    return slope_along(f, {std::vector{1.0, -0.5}}, {3, 1}, 1e-9, claimed);
  };
  const Derivatives right = slope(expected);
  EXPECT_EQ(right.evaluations, 3);
  EXPECT_THAT(right.levels, SizeIs(0));
  EXPECT_LE(std::abs(right.value[0] - expected), right.error[0]);
  EXPECT_LE(right.error[0], 2e-9);
  for (const double wrong : {expected + 3e-9, -expected, 0.0, std::nan("")}) {
    const Derivatives found = slope(wrong);
    EXPECT_EQ(found.evaluations, 9);
    EXPECT_LE(std::abs(found.value[0] - expected), found.error[0]);
    EXPECT_LE(found.error[0], 1e-9);
  }
}

TEST(Slope, TakesNoClaimThatRoundingHides) {
  ToyFunction f = elementwise([](double x) { return 1e6 + x; }, {1});
  EXPECT_GT(slope_along(f, {std::vector{1.0}}, {1}, 1e-9, 1).evaluations, 3);
}

TEST(Slope, MovesAllInputsTogether) {
  ToyFunction f({tensor_of({2}), tensor_of({3})}, [](const std::vector<Tensor>& x) {
    return std::vector{tensor_of({x[0].get_float_element(0) * x[1].get_float_element(0)})};
  });
  const Derivatives found = slope_along(f, {std::vector{1.0}, std::vector{10.0}}, {1}, 1e-8);
  EXPECT_NEAR(found.value[0], 3 + 20, 1e-8);
  EXPECT_NEAR(slope_along(f, {std::nullopt, std::vector{1.0}}, {1}, 1e-8).value[0], 2, 1e-8);
}

TEST(Slope, TakesSmallerStepsBelowAKink) {
  ToyFunction f = elementwise([](double x) { return std::abs(x - 1 + 1e-4); }, {1});
  const Derivatives found = slope_along(f, {std::vector{1.0}}, {1}, 1e-8);
  EXPECT_NEAR(found.value[0], 1, 1e-8);
  EXPECT_GT(found.evaluations, 7);
}

TEST(Slope, SaysThatQuotientsNeverAgree) {
  ToyFunction jump = elementwise([](double x) { return x < 1 ? 0.0 : 1.0; }, {1});
  const Derivatives found = slope_along(jump, {std::vector{1.0}}, {1}, 1e-8);
  EXPECT_TRUE(found.flags[0] != 0 || found.error[0] > 1);
}

TEST(Slope, SaysWhereFIsNotFinite) {
  ToyFunction root = elementwise([](double x) { return std::sqrt(x); }, {0, 1});
  ToyFunction thrower =
      elementwise([](double x) { return x > 1 ? throw std::runtime_error("outside") : x; }, {1});
  for (ToyFunction* f : {&root, &thrower}) {
    const std::vector<double> ones(static_cast<std::size_t>(f->inputs()[0].size()), 1.0);
    const Derivatives found = slope_along(*f, {ones}, ones, 1e-8);
    EXPECT_EQ(found.flags[0], kDomain);
    EXPECT_TRUE(std::isinf(found.error[0]));
  }
  EXPECT_EQ(slope_along(thrower, {std::vector{1.0}}, {1}, 1e-8).failure, "outside");
  EXPECT_EQ(slope_along(root, {std::vector{0.0, 0.0}}, {1, 1}, 1e-8).flags[0], kDomain);
}

TEST(Slope, RefusesWhatItCannotDo) {
  ToyFunction f = elementwise(sine, {1});
  ToyFunction coarse = ToyFunction::elementwise(tensor_of({1}, DType::kFloat32), sine);
  const auto call = [](ToyFunction& g, double wanted, std::vector<double> v) {
    return [&g, wanted, v] { slope_along(g, {std::vector{1.0}}, v, wanted); };
  };
  EXPECT_THAT(call(f, 0, {1}), ThrowsMessage<Error>(HasSubstr("must be positive, got 0")));
  EXPECT_THAT(call(f, std::nan(""), {1}), ThrowsMessage<Error>(HasSubstr("must be positive")));
  EXPECT_THAT(call(f, 1, {1, 2}), ThrowsMessage<Error>(HasSubstr("cotangent 0")));
  EXPECT_THAT(call(coarse, 1, {1}), ThrowsMessage<Error>(HasSubstr("float64")));
}

}  // namespace
}  // namespace fluidcore::gradcheck
