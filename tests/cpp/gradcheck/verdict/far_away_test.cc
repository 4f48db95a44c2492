#include "fluidcore/gradcheck/verdict/far_away.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/infinity.h"
#include "gradcheck/toy_formula.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::Gt;
using testing::Lt;

const std::vector<std::vector<double>> kFarWeights = {
    std::vector<double>(12, 1), {1, -2, 0.5, 1, 1, 3, -1, 0.25, -0.5, 1, -1, 2}};

std::vector<double> point(double scale) {
  std::vector<double> x;
  for (int i = 0; i < 12; ++i) x.push_back(scale * std::cos(2 * i + 1));
  return x;
}

double largest_magnitude(const Tensor& x) {
  double most = 0;
  for (const double value : values_of(x)) most = std::max(most, std::abs(value));
  return most;
}

ToyFunction shifted(double offset, double scale, DType dtype) {
  return ToyFunction::elementwise(tensor_of(point(scale), dtype),
                                  [offset](double x) { return x + offset; });
}

FarAway far_away(ToyFunction& f) {
  Formula formula = formula_of(f, kFarWeights);
  return far_away(formula, 0);
}

bool is_hidden(const FarAway& far, double limit) {
  return far.is_hidden_by(std::vector<double>(kFarWeights.size() * 12, limit),
                          look_at(12).elements);
}

TEST(FarAway, NothingIsWhereFIsFiniteNowhereElse) {
  const Tensor x = tensor_of(point(1), DType::kFloat32);
  const std::vector<double> here = values_of(x);
  ToyFunction f({x}, [here](const std::vector<Tensor>& inputs) {
    const std::vector<double> nowhere(here.size(), std::nan(""));
    return std::vector<Tensor>{
        tensor_of(values_of(inputs[0]) == here ? here : nowhere, DType::kFloat32)};
  });
  EXPECT_FALSE(far_away(f).slopes.has_value());
}

TEST(FarAway, NothingIsWhereFEnds) {
  ToyFunction f({tensor_of(point(1))}, [](const std::vector<Tensor>& inputs) {
    if (largest_magnitude(inputs[0]) > 5) throw InvalidArgument("too far");
    return std::vector<Tensor>{inputs[0].clone()};
  });
  EXPECT_FALSE(far_away(f).slopes.has_value());
  EXPECT_EQ(values_of(f.inputs()[0]), point(1));
}

TEST(FarAway, PointsWithAnOutputThatIsNotFiniteAreLeftOut) {
  ToyFunction f({tensor_of(point(1))}, [](const std::vector<Tensor>& inputs) {
    return std::vector<Tensor>{inputs[0].clone(),
                               tensor_of({largest_magnitude(inputs[0]) < 5 ? 0 : kInfinity})};
  });
  Formula formula = formula_of(f);
  EXPECT_FALSE(far_away(formula, 0).slopes.has_value());
}

TEST(FarAway, ALineMovesAtOnceAndItsSlopeIsHiddenByWideErrorBarsAlone) {
  ToyFunction f = shifted(0, 1, DType::kFloat32);
  const FarAway far = far_away(f);
  EXPECT_EQ(far.still, 0);
  ASSERT_TRUE(far.slopes.has_value());
  EXPECT_TRUE(is_hidden(far, 10));
  EXPECT_FALSE(is_hidden(far, 1e-3));
}

TEST(FarAway, ASlopeIsHiddenByTheErrorBarsOfTheElementsThatWereLookedAt) {
  FarAway far;
  far.direction = {1, -2, 3};
  far.slopes = {4.0, 1.0};
  EXPECT_TRUE(far.is_hidden_by({2, 0.5, 0, 0}, {1, 0}));
  EXPECT_FALSE(far.is_hidden_by({1.9, 0.1, 0, 0}, {1, 0}));
  EXPECT_TRUE(far.is_hidden_by({0, 0, 0.4, 0.3}, {1, 0}));
  EXPECT_FALSE(far.is_hidden_by({0, 0, 0.3, 0.3}, {1, 0}));
}

TEST(FarAway, FStandsStillAsLongAsItAbsorbsTheSteps) {
  ToyFunction f = shifted(1e6, 1e-6, DType::kFloat32);
  const FarAway far = far_away(f);
  EXPECT_GE(far.still, 8);
  EXPECT_LT(far.still, 1e6);
  EXPECT_TRUE(far.slopes.has_value());
}

TEST(FarAway, AConstantStandsStillToTheEndAndHidesNothing) {
  ToyFunction f = ToyFunction::elementwise(tensor_of(point(1)), [](double) { return 1; });
  const FarAway far = far_away(f);
  EXPECT_FALSE(far.slopes.has_value());
  EXPECT_GT(far.still, 0x1p39 / 8);
  EXPECT_FALSE(is_hidden(far, kInfinity));
}

TEST(FarAway, RoundingAloneIsNoMove) {
  ToyFunction f =
      ToyFunction::elementwise(tensor_of(point(1)), [](double x) { return (x + 3) - x; });
  const FarAway far = far_away(f);
  EXPECT_FALSE(far.slopes.has_value());
  EXPECT_EQ(far.still, 0);
}

TEST(FarAway, HowSteepFIsOnTheWayToTheFirstPointsIsKnown) {
  ToyFunction f({tensor_of(std::vector<double>(12, 1))}, [](const std::vector<Tensor>& inputs) {
    const bool is_far = largest_magnitude(inputs[0]) > 20;  // from there on it may be steeper
    std::vector<double> y = values_of(inputs[0]);
    for (double& value : y) value = 5 + 1e-18 * value + (is_far ? value : 0);
    return std::vector<Tensor>{tensor_of(y)};
  });
  const FarAway far = far_away(f);
  ASSERT_TRUE(far.slopes.has_value());
  EXPECT_THAT(*far.slopes, Each(Gt(0.01)));
  EXPECT_THAT(far.steepness, Each(Lt(1e-9)));
  ToyFunction line = ToyFunction::elementwise(tensor_of(std::vector<double>(12, 1)),
                                              [](double x) { return 2 * x; });
  const FarAway first = far_away(line);
  ASSERT_TRUE(first.slopes.has_value());
  EXPECT_EQ(first.steepness, *first.slopes);
}

TEST(FarAway, EveryRunIsCounted) {
  std::int64_t runs = 0;
  ToyFunction f({tensor_of(point(1))}, [&](const std::vector<Tensor>& inputs) {
    ++runs;
    return std::vector<Tensor>{inputs[0].clone()};
  });
  Formula formula = formula_of(f);
  runs = 0;
  far_away(formula, 0);
  EXPECT_EQ(formula.evaluations, runs);
  largest_slopes(formula, 0, look_at(12).direction());
  EXPECT_EQ(formula.evaluations, runs);
}

TEST(LargestSlopes, AreThoseAlongADirectionOfTheSize1) {
  ToyFunction line = ToyFunction::elementwise(tensor_of(point(1)), [](double x) { return 2 * x; });
  Formula formula = formula_of(line, kFarWeights);
  const std::vector<double> direction = look_at(12).direction();
  const std::vector<double> slopes = largest_slopes(formula, 0, direction);
  ASSERT_EQ(slopes.size(), 2U);
  for (std::size_t row = 0; row < 2; ++row) {
    double expected = 0;
    double squares = 0;
    for (std::size_t j = 0; j < 12; ++j) {
      expected += 2 * kFarWeights[row][j] * direction[j];
      squares += direction[j] * direction[j];
    }
    EXPECT_NEAR(slopes[row], std::abs(expected) / std::sqrt(squares / 12), 1e-9);
  }
}

TEST(LargestSlopes, OfAConstantAre0AndWhereNothingIsKnownTheyAreEndless) {
  ToyFunction constant = ToyFunction::elementwise(tensor_of(point(1)), [](double) { return 3; });
  Formula formula = formula_of(constant, kFarWeights);
  EXPECT_THAT(largest_slopes(formula, 0, look_at(12).direction()), Each(0));
  const std::vector<double> here = point(1);
  ToyFunction nowhere({tensor_of(here)}, [here](const std::vector<Tensor>& inputs) {
    if (values_of(inputs[0]) != here) throw InvalidArgument("too far");
    return std::vector<Tensor>{inputs[0].clone()};
  });
  Formula other = formula_of(nowhere, kFarWeights);
  EXPECT_THAT(largest_slopes(other, 0, look_at(12).direction()), Each(kInfinity));
}

}  // namespace
}  // namespace fluidcore::gradcheck
