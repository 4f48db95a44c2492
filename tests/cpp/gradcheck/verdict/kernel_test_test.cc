// A kernel whose errors are known, at x and around other centres.

#include "fluidcore/gradcheck/verdict/kernel_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_function.h"
#include "gradcheck/toy_gradient.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr std::size_t kElements = 3;
const double kUnknown = std::numeric_limits<double>::quiet_NaN();
const Rules kRules = {.resolution = 1e-12};  // so strict that nothing is only imprecise

// Kernel minus formula around a centre.
struct Around {
  double mean = 0;
  double spread = 0;
  double formula = 1;
};

// Nine numbers with mean 0 and standard deviation 1.
double pattern(std::size_t point) {
  return point == 8 ? 0 : point % 2 == 0 ? 1 : -1;
}

// The gradient of a function that never moves: what other points say is nobody's business.
class Measured {
 public:
  // Of x, and of the other centres; `off` are the elements that are off at all.
  explicit Measured(std::vector<Around> centres, std::vector<bool> off = {true, true, true})
      : f_(ToyFunction::elementwise(tensor_of({1, 2, 3}), [](double /*x*/) { return 0; })),
        kernel_({tensor_of({1, 2, 3}, DType::kFloat32)}, body(centres, off, points, true)),
        formula_({tensor_of({1, 2, 3})}, body(centres, off, formula_points_, false)),
        test({kernel_, formula_, f_, {{tensor_of({1, 1, 1}, DType::kFloat32)}}, 0}) {}

  Judgement judge(double error = 0, std::uint8_t flag = 0, const Rules& rules = kRules) {
    return judge(error, {flag, flag, flag}, rules);
  }
  Judgement judge(double error, std::vector<std::uint8_t> flags, const Rules& rules) {
    Derivatives reference(1, kElements);
    reference.value = reference.low = reference.high = reference.scale = {1, 1, 1};
    reference.error.assign(kElements, error);
    reference.flags = std::move(flags);
    return test.judge({0, {0, 1, 2}, {1, 1, 1}, std::vector(kElements, kUnknown), reference},
                      rules);
  }

  std::vector<std::vector<double>> points;  // where the kernel was asked

 private:
  static ToyGradient::Body body(std::vector<Around> centres,
                                std::vector<bool> off,
                                std::vector<std::vector<double>>& at,
                                bool is_kernel) {
    return [centres = std::move(centres), off = std::move(off), &at, is_kernel](
               const std::vector<Tensor>& x, const std::vector<Tensor>& /*v*/) {
      const std::size_t call = at.size();
      at.push_back(values_of(x[0]));
      const Around& around = centres[std::min(call / 9, centres.size() - 1)];
      const double error = around.mean + around.spread * pattern(call % 9);
      std::vector<double> gradient(kElements, around.formula);
      for (std::size_t i = 0; i < kElements && is_kernel; ++i) gradient[i] += off[i] ? error : 0;
      return std::vector<Tensor>{tensor_of(gradient)};
    };
  }

  std::vector<std::vector<double>> formula_points_;
  ToyFunction f_;
  ToyGradient kernel_;
  ToyGradient formula_;

 public:
  KernelTest test;
};

// The same at x and at all other centres.
std::vector<Around> everywhere(const Around& around) {
  return std::vector<Around>(5, around);
}

// `fault` at x and `count` of the other centres, `none` at the others.
std::vector<Around> at_some(const Around& fault, int count, const Around& none) {
  std::vector<Around> centres(5, none);
  std::fill_n(centres.begin(), count + 1, fault);
  return centres;
}

bool is_wrong(const std::vector<Around>& centres) {
  const Judgement found = Measured(centres).judge();
  EXPECT_THAT(found.wrong, Each(found.wrong[0]));
  return found.wrong[0] != 0;
}

TEST(KernelTestTest, AMeanBeyondFourSpreadsAndFourUnitsIsAFault) {
  const std::vector<std::tuple<double, double, bool>> cases = {
      {3.9 * kFloat32Unit, 0, false}, {4.1 * kFloat32Unit, 0, true}, {-4.1 * kFloat32Unit, 0, true},
      {1e-4, 0.26e-4, false},         {1e-4, 0.24e-4, true},         {-1e-4, 0.24e-4, true}};
  for (const auto& [mean, spread, wrong] : cases) {
    Measured at(everywhere({mean, spread}));
    const Judgement found = at.judge();
    EXPECT_THAT(found.wrong, Each(wrong)) << mean / kFloat32Unit << " units";
    EXPECT_NEAR(found.limit[0], 4 * spread + 4 * kFloat32Unit, 1e-14);
    EXPECT_NEAR(found.analytical[0], 1 + mean, 1e-14);
    EXPECT_NEAR(found.spread[0], spread, 1e-14);
  }
}

TEST(KernelTestTest, LessThanFourSpreadsIsAFaultIfItIsTheSameEverywhere) {
  const std::vector<std::tuple<double, int, bool>> cases = {
      {6, 4, true},  // 4 units and 6 / sqrt(9 * 5) spreads are 4.9
      {4.8, 4, false}, {5, 4, true}, {-6, 4, true}, {8, 3, true}, {8, 2, false}};
  for (const auto& [units, count, wrong] : cases) {
    const double spread = (std::abs(units) < 6 ? 1.05 : 1.5) * kFloat32Unit;
    const Around none = {std::copysign(2 * kFloat32Unit, units), spread};
    EXPECT_EQ(is_wrong(at_some({units * kFloat32Unit, spread}, count, none)), wrong) << units;
  }
}

TEST(KernelTestTest, WhereErrorsSpreadMoreThanResultsRoundTheSameEverywhereIsNoFault) {
  EXPECT_TRUE(is_wrong(everywhere({11 * kFloat32Unit, 1.9 * kFloat32Unit})));
  EXPECT_FALSE(is_wrong(everywhere({11 * kFloat32Unit, 2.1 * kFloat32Unit})));
}

TEST(KernelTestTest, AFaultMustBeConfirmedAtThreeOfFourOtherCentres) {
  for (int count = 0; count <= 4; ++count) {
    EXPECT_EQ(is_wrong(at_some({1e-3, 1e-5}, count, {1e-3, 1e-3})), count >= 3) << count;
  }
}

TEST(KernelTestTest, AFaultOfOneElementMustBeConfirmedToo) {
  const std::vector<bool> second = {false, true, false};
  EXPECT_THAT(Measured(everywhere({1e-3, 1e-5}), second).judge().wrong, ElementsAre(0, 1, 0));
  EXPECT_THAT(Measured(at_some({1e-3, 1e-5}, 0, {0, 1e-5}), second).judge().wrong, Each(0));
}

TEST(KernelTestTest, WhatOtherCentresDoNotConfirmIsOpen) {
  const Rules rules = {.resolution = 0.01};
  const Judgement found = Measured(at_some({0.1, 1e-5}, 2, {0.1, 0.1})).judge(0, 0, rules);
  EXPECT_THAT(found.wrong, Each(0));
  EXPECT_THAT(found.unsure, Each(1));
  EXPECT_EQ(found.verdict(), Verdict::kInconclusive);
}

TEST(KernelTestTest, AFaultThatScattersAroundZeroIsRounding) {
  const auto with = [](double other) {
    return std::vector<Around>{
        {1e-3, 1e-5}, {other, 1e-5}, {1e-3, 1e-5}, {other, 1e-5}, {1e-3, 1e-5}};
  };
  EXPECT_FALSE(is_wrong(with(-1e-3)));
  EXPECT_TRUE(is_wrong(with(2e-3)));
}

TEST(KernelTestTest, AFaultIsLargerThanItsStandardDeviationOverTheCentres) {
  for (const double scatter : {0.95, 1.05}) {
    std::vector<Around> centres;
    for (const double sign : {0.0, 1.0, -1.0, 1.0, -1.0}) {
      centres.push_back({1e-3 * (1 + scatter * sign), 1e-9});
    }
    EXPECT_EQ(is_wrong(centres), scatter < 1);
  }
}

TEST(KernelTestTest, AFaultInProportionToAGradientThatChangesItsSignIsAFault) {
  std::vector<Around> centres;
  for (const double side : {1.0, -1.0, 1.0, -1.0, 1.0}) {
    centres.push_back({1e-3 * side, 1e-5, side});
  }
  EXPECT_TRUE(is_wrong(centres));
}

TEST(KernelTestTest, AWrongSignOfASteepGradientIsFoundInSixteenBits) {
  const std::vector<double> x = {-0.9, -0.5, -0.25, 0.1, 0.375, 0.75, 1};
  const auto slope = [](double at) { return 20 * std::cos(20 * at); };
  const auto negative = [&](double at) { return -slope(at); };
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const Tensor point = tensor_of(x, dtype);
    const Tensor exact = tensor_of(values_of(point));
    ToyFunction f = ToyFunction::elementwise(exact, [](double at) { return std::sin(20 * at); });
    ToyGradient kernel = ToyGradient::elementwise(point, negative);
    ToyGradient formula = ToyGradient::elementwise(exact, slope);
    const Tensor ones = tensor_of(std::vector<double>(x.size(), 1.0), dtype);
    KernelTest test({kernel, formula, f, {{ones}}, 0});
    Derivatives reference(1, std::ssize(x));
    for (std::size_t i = 0; i < x.size(); ++i) {
      reference.value[i] = slope(exact.get_float_element(static_cast<std::int64_t>(i)));
      reference.scale[i] = std::abs(reference.value[i]);
    }
    reference.low = reference.high = reference.value;
    const Judgement found = test.judge({0,
                                        {0, 1, 2, 3, 4, 5, 6},
                                        reference.value,
                                        values_of(kernel.at({point}, {ones})[0]),
                                        reference},
                                       Rules::of(dtype, false));
    EXPECT_THAT(found.wrong, Each(1)) << to_string(dtype);
  }
}

TEST(KernelTestTest, TheSameBitsEverywhereAreRightForSure) {
  EXPECT_EQ(Measured(everywhere({0, 0})).judge().verdict(), Verdict::kPass);
  EXPECT_EQ(Measured(everywhere({1e-9, 0})).judge().verdict(), Verdict::kInconclusive);
  EXPECT_EQ(Measured(everywhere({0, 1e-9})).judge().verdict(), Verdict::kInconclusive);
  EXPECT_EQ(Measured(everywhere({0, 0})).judge(1e-9).verdict(), Verdict::kInconclusive);
}

TEST(KernelTestTest, AKinkThatIsForbiddenNeedsNoOtherCentre) {
  for (const OnKink on_kink : {OnKink::kSubgradient, OnKink::kFail, OnKink::kSkip}) {
    const Rules rules = {.resolution = 1e-12, .on_kink = on_kink};
    const Judgement at_kink = Measured(everywhere({0, 0})).judge(0, kKink, rules);
    EXPECT_THAT(at_kink.wrong, Each(on_kink == OnKink::kFail ? 1 : 0));
    EXPECT_THAT(Measured(everywhere({0, 0})).judge(0, 0, rules).wrong, Each(0));
  }
  const Rules rules = {.resolution = 1e-12, .on_kink = OnKink::kFail};
  Measured beside(at_some({1e-3, 1e-5}, 0, {0, 1e-5}));
  EXPECT_THAT(beside.judge(0, {kKink, 0, 0}, rules).wrong, ElementsAre(1, 0, 0));
}

TEST(KernelTestTest, WhereTheFormulaIsUnknownAtAKinkNothingIsRight) {
  Measured at(everywhere({1e-3, 1e-5}));
  Derivatives reference(1, kElements);
  reference.value = reference.low = reference.high = reference.scale = {1, 1, 1};
  reference.flags = {kKink, 0, kKink};
  const Judgement found = at.test.judge(
      {0, {0, 1, 2}, {1, 1, 1}, std::vector(kElements, kUnknown), reference, {1, 1, 0}}, kRules);
  EXPECT_THAT(found.wrong, ElementsAre(0, 1, 1));
  EXPECT_EQ(found.unsure[0], 1);
}

TEST(KernelTestTest, ARightKernelNeedsNoOtherCentres) {
  Measured at(everywhere({0, kFloat32Unit}));
  EXPECT_EQ(at.judge(0, 0, {.resolution = 1e-3}).verdict(), Verdict::kPass);
  EXPECT_EQ(at.points.size(), 9u);
  at.judge(0, 0, {.resolution = 1e-3});
  EXPECT_EQ(at.points.size(), 9u) << "what is known is kept";
}

double farthest(const std::vector<std::vector<double>>& points, std::size_t first) {
  double most = 0;
  for (std::size_t q = first; q < first + 9; ++q) {
    for (std::size_t i = 0; i < kElements; ++i) {
      most = std::max(most, std::abs(points[q][i] / static_cast<double>(i + 1) - 1));
    }
  }
  return most;
}

TEST(KernelTestTest, FourOtherCentresAreFurtherAway) {
  Measured at(everywhere({1e-3, 1e-5}));
  at.judge();
  ASSERT_GE(at.points.size(), 45u);
  EXPECT_LT(farthest(at.points, 0), 1.01 * 0x1p-12);
  double most = 0;
  for (std::size_t q = 1; q <= 4; ++q) {
    most = std::max(most, farthest(at.points, 9 * q));
    EXPECT_GT(std::abs(at.points[9 * q][0] - at.points[9 * (q - 1)][0]), 10 * 0x1p-12);
  }
  EXPECT_GT(most, 0.5 * 0x1p-6);
  EXPECT_LT(most, 1.05 * 0x1p-6);
}

TEST(KernelTestTest, SlightErrorsOfSumsAreAWarning) {
  const Rules rules = Rules::of(DType::kFloat32, false);
  for (const double units : {3.0, 7.0, 25.0, 40.0}) {
    const Judgement found = Measured(everywhere({units * kFloat32Unit, 0})).judge(0, 0, rules);
    // Three terms may lose 16 sqrt(3) units, besides the four that are always right.
    EXPECT_EQ(found.verdict(), units < 40 ? Verdict::kPass : Verdict::kFail) << units;
    EXPECT_EQ(found.num_imprecise, units > 4 && units < 40 ? 3 : 0);
  }
}

TEST(KernelTestTest, WhatIsNotFiniteIsOpen) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Judgement found =
      Measured(everywhere({nan, 0})).judge(0, 0, Rules::of(DType::kFloat32, false));
  EXPECT_THAT(found.unsure, Each(1));
  EXPECT_EQ(found.num_imprecise, 0);
  EXPECT_EQ(found.verdict(), Verdict::kInconclusive);
}

// Two inputs of one size, whose kernel is off; counts the calls.
TEST(KernelTestTest, CentresAreLookedAtOnceForAllInputsThatFollow) {
  const std::vector<double> x = {1, 2};
  const auto both = [&](DType dtype) { return std::vector<Tensor>(2, tensor_of(x, dtype)); };
  int far = 0;
  ToyGradient kernel(both(DType::kFloat32), [&](const auto& at, const auto& /*v*/) {
    far += std::abs(at[0].get_float_element(0) - 1) > 4 * 0x1p-12 ? 1 : 0;
    return std::vector<Tensor>(2, tensor_of({1.001, 1.001}));
  });
  ToyGradient formula(both(DType::kFloat64), [&](const auto& /*at*/, const auto& /*v*/) {
    return std::vector<Tensor>(2, tensor_of({1, 1}));
  });
  ToyFunction f(both(DType::kFloat64),
                [](const auto& /*x*/) { return std::vector<Tensor>{tensor_of({0})}; });
  KernelTest test({kernel, formula, f, {{tensor_of({1}, DType::kFloat32)}}, 0});
  Derivatives reference(1, 1);
  reference.value = reference.low = reference.high = reference.scale = {1};
  const auto judge = [&](std::size_t k, std::int64_t element) {
    EXPECT_THAT(test.judge({k, {element}, {1}, {kUnknown}, reference}, kRules).wrong,
                ElementsAre(1));
    return far;
  };
  const int once = judge(0, 1);
  EXPECT_GE(once, 18);
  EXPECT_EQ(judge(1, 0), once);
  EXPECT_EQ(judge(1, 1), once);
  EXPECT_GT(judge(0, 0), once) << "of earlier inputs nothing else is kept";
}

TEST(KernelTestTest, WhereAllIsRoundingAtThePointNoOtherPointIsNeeded) {
  const Rules rules = Rules::of(DType::kFloat32, false);
  Derivatives reference(1, kElements);
  reference.value = reference.low = reference.high = reference.scale = {1, 1, 1};
  for (const double units : {0.0, 1.9, -1.9, 2.1, -2.1}) {
    Measured at(everywhere({0, 0}));
    const FormulaGradient formula{
        0, {0, 1, 2}, {1, 1, 1}, {1, 1 + units * kFloat32Unit, 1}, reference};
    const std::optional<Judgement> found = at.test.judge_at_point(formula, rules);
    EXPECT_EQ(found.has_value(), std::abs(units) < 2) << units;
    if (found) {
      EXPECT_EQ(found->verdict(), Verdict::kPass);
      EXPECT_THAT(found->spread, Each(0));
      EXPECT_EQ(at.test.judge(formula, rules).limit, found->limit);
    }
    EXPECT_TRUE(at.points.empty());
    FormulaGradient open = formula;
    open.open = {0, 0, 1};
    EXPECT_FALSE(at.test.judge_at_point(open, rules));
  }
  reference.error = {0, 0, 1};
  const FormulaGradient vague{0, {0, 1, 2}, {1, 1, 1}, {1, 1, 1}, reference};
  EXPECT_FALSE(Measured(everywhere({0, 0})).test.judge_at_point(vague, rules));
}

TEST(KernelTestTest, OnlyElementsThatAreNotProvenAtThePointAreLookedAtAround) {
  Measured at(everywhere({1e-3, 1e-5}));
  Derivatives reference(1, kElements);
  reference.value = reference.low = reference.high = reference.scale = {1, 1, 1};
  const FormulaGradient formula{0, {0, 1, 2}, {1, 1, 1}, {1, 1 + 1e-3, kUnknown}, reference};
  const Judgement found = at.test.judge(formula, kRules);
  EXPECT_THAT(found.wrong, ElementsAre(0, 1, 1));
  EXPECT_EQ(found.analytical[0], 1);
  EXPECT_EQ(found.spread[0], 0);
  EXPECT_NEAR(found.spread[1], 1e-5, 1e-12);
}

TEST(KernelTestTest, AGradientThatThrowsAtThePointGoesThrough) {
  const Tensor x = tensor_of({1}, DType::kFloat32);
  ToyGradient kernel({x}, [](const auto& /*at*/, const auto& /*v*/) -> std::vector<Tensor> {
    throw std::runtime_error("no");
  });
  ToyGradient formula = ToyGradient::elementwise(tensor_of({1}), [](double /*x*/) { return 1; });
  ToyFunction f = ToyFunction::elementwise(tensor_of({1}), [](double value) { return value; });
  KernelTest test({kernel, formula, f, {{tensor_of({1}, DType::kFloat32)}}, 0});
  Derivatives reference(1, 1);
  reference.value = reference.low = reference.high = reference.scale = {1};
  EXPECT_THROW(test.judge({0, {0}, {1}, {kUnknown}, reference}, kRules), std::runtime_error);
}

}  // namespace
}  // namespace fluidcore::gradcheck
