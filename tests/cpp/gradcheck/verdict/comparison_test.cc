#include "fluidcore/gradcheck/verdict/comparison.h"

#include <chrono>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/infinity.h"
#include "gradcheck/toy_formula.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;

// What a dense direction sees of two elements, which are said to add up to 0.
struct Promise {
  std::vector<double> error = {0, 0};
  double dense_error = 0;
  double scale = 0;
  Rules rules = {};

  bool is_kept(double missing) const {
    Derivatives parts(1, 2);
    parts.error = error;
    parts.scale = {scale, 0};
    Derivatives dense(1, 1);
    dense.value = dense.low = dense.high = {missing};
    dense.error = {dense_error};
    return adds_up(parts, dense, {2, -3}, rules);
  }
};

TEST(IndependentRows, AddUpToWhatADenseDirectionSees) {
  EXPECT_TRUE(Promise().is_kept(0));
  EXPECT_FALSE(Promise().is_kept(1e-12));
  EXPECT_FALSE(Promise().is_kept(-1e-12));
}

TEST(IndependentRows, MayMissThreeErrorBarsThoseOfTheElementsByTheirSquares) {
  const Promise promise{{0.3, 0.5}, 0.25};
  const double limit = 3 * (0.25 + std::hypot(2 * 0.3, 3 * 0.5));
  EXPECT_TRUE(promise.is_kept(0.999 * limit));
  EXPECT_FALSE(promise.is_kept(1.001 * limit));
}

TEST(IndependentRows, DoNotMissWhatIsNotKnownAtAll) {
  const Promise promise{{0.3, kInfinity}, 0.25};
  const double limit = 3 * (0.25 + 2 * 0.3);
  EXPECT_TRUE(promise.is_kept(-0.999 * limit));
  EXPECT_FALSE(promise.is_kept(-1.001 * limit));
}

TEST(IndependentRows, MayMissAHundredthOfTheResolutionOfTheLargestTerm) {
  const Promise promise{.scale = 8, .rules = {.resolution = 0.1}};
  const double limit = 0.1 * 0.01 * 8 * 2;
  EXPECT_TRUE(promise.is_kept(0.999 * limit));
  EXPECT_FALSE(promise.is_kept(1.001 * limit));
}

TEST(IndependentRows, OneCotangentThatMissesSomethingIsEnough) {
  Derivatives parts(2, 1);
  Derivatives dense(2, 1);
  dense.value = dense.low = dense.high = {0, 1e-12};
  EXPECT_FALSE(adds_up(parts, dense, {1}, {}));
}

TEST(Comparison, FindsThatRowsDependOnEachOther) {
  for (const double weak : {0.0, 1.0, 1e-5}) {
    ToyFunction f({tensor_of({0.1, 0.2, 0.3, 0.4})}, [weak](const std::vector<Tensor>& inputs) {
      std::vector<double> y = values_of(inputs[0]);
      const std::vector<double> x = y;
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::tanh(x[i]) + weak * x[3 - i];
      return std::vector<Tensor>{tensor_of(y)};
    });
    Formula formula = formula_of(f);
    formula.weights = {{1, 2, -1, 3}};
    const auto found = compare(formula, look_at(4, 4), nullptr);
    EXPECT_EQ(found.has_value(), weak == 0) << weak;
    if (found) {
      ASSERT_TRUE(found->along.has_value());
      EXPECT_FALSE(found->along->levels.empty());
    }
  }
}

TEST(Comparison, LeavesOutWhatThereIsNoTimeFor) {
  Interruption interruption;
  interruption.limit(std::chrono::hours(1));
  int runs = 0;
  ToyFunction f({tensor_of(std::vector<double>(100, 0.5))}, [&](const std::vector<Tensor>& inputs) {
    if (++runs == 500) {
      interruption.limit(std::chrono::seconds(0));
    }
    std::vector<double> y = values_of(inputs[0]);
    for (double& value : y) value = std::tanh(value);
    return std::vector<Tensor>{tensor_of(y)};
  });
  Formula formula = formula_of(f);
  f.set_interruption(&interruption);
  const Derivatives found = compare(formula, look_at(100), nullptr)->reference;
  std::size_t known = 0;
  while (known < 100 && found.flags[known] != kLate) ++known;
  EXPECT_EQ(known % 32, 0U);
  EXPECT_GT(known, 0U);
  EXPECT_LT(known, 100U);
  for (std::size_t j = 0; j < 100; ++j) {
    EXPECT_EQ(found.flags[j], j < known ? 0 : kLate);
    EXPECT_EQ(std::isinf(found.error[j]), j >= known);
    EXPECT_EQ(found.value[j] == 0, j >= known);
  }
}

TEST(Comparison, EndsWithWhatTheUserInterrupts) {
  Interruption interruption;
  int runs = 0;
  ToyFunction f({tensor_of({0.5, 0.7})}, [&](const std::vector<Tensor>& inputs) {
    if (++runs == 6) interruption.request();
    return std::vector<Tensor>{inputs[0].clone()};
  });
  Formula formula = formula_of(f);
  f.set_interruption(&interruption);
  EXPECT_THROW(compare(formula, look_at(2), nullptr), Interrupted);
}

TEST(Comparison, KeepsTheFirstFailureOfTheElementsThatAreLookedAtAgain) {
  ToyFunction f({tensor_of({0.5, 0.7})}, [](const std::vector<Tensor>& inputs) {
    if (inputs[0].get_float_element(1) > 0.7) throw InvalidArgument("out of the domain");
    return std::vector<Tensor>{inputs[0].clone()};
  });
  Formula formula = formula_of(f);
  const auto found = compare(formula, look_at(2), nullptr);
  EXPECT_EQ(found->reference.failure, "out of the domain");
}

TEST(Comparison, IsEnoughWithTwoRunsForEachElementWhereTheClaimAgrees) {
  const std::vector<double> x = {0.5, -0.25, 0.75};
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), [](double t) { return std::sin(t); });
  Formula formula = formula_of(f);
  std::vector<double> claimed;
  for (const double t : x) claimed.push_back(std::cos(t));
  const Numerical once = *compare(formula, look_at(3), &claimed);
  EXPECT_THAT(once.reference.flags, Each(0));
  EXPECT_LE(formula.evaluations, 3 * 2 + 1);
  claimed[1] += 0.5;
  formula.evaluations = 0;
  const Numerical again = *compare(formula, look_at(3), &claimed);
  EXPECT_GT(formula.evaluations, 3 * 2 + 1);
  EXPECT_NEAR(again.reference.value[1], std::cos(x[1]), 1e-9);
}

}  // namespace
}  // namespace fluidcore::gradcheck
