#include "fluidcore/gradcheck/verdict/confirm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_gradient.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;

using Body = std::function<double(const std::vector<double>&)>;

ToyFunction scalar(const std::vector<double>& x, const Body& f) {
  return ToyFunction({tensor_of(x)}, [f](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{tensor_of({f(values_of(in[0]))})};
  });
}

// The judgement on a claim after two measurements.
Judgement judged(Function& f, const std::vector<double>& claimed, Gradient* gradient = nullptr) {
  const NoiseLevel noise = noise_floor(f);
  const Question question{{{1}}, noise.near};
  Derivatives reference = differentiate(f, 0, question);
  const std::vector<double> tolerance = formula_tolerance(reference);
  std::vector<std::int64_t> elements(claimed.size());
  std::iota(elements.begin(), elements.end(), 0);
  confirm(f, {0, claimed, tolerance}, elements, 0, question, Rules(),
          {1, 0, noise.far, true, gradient}, reference);
  return judge(reference, claimed, tolerance, Rules());
}

Verdict verdict(const std::vector<double>& x, const Body& f, const std::vector<double>& claimed) {
  ToyFunction function = scalar(x, f);
  return judged(function, claimed).verdict();
}

double sum_of(const std::vector<double>& x, double (*f)(double)) {
  return std::accumulate(x.begin(), x.end(), 0.0,
                         [f](double sum, double value) { return sum + f(value); });
}

double largest(const std::vector<double>& x) {
  return *std::max_element(x.begin(), x.end());
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

TEST(Confirm, RefutesOneWrongElementAmongManyAtWeakKinks) {
  std::vector<double> x(50);
  for (std::size_t i = 20; i < 50; ++i) x[i] = 0.5 + 0.02 * static_cast<double>(i);
  const Body f = [](const std::vector<double>& v) {
    return sum_of(v, [](double t) { return t + 1e-4 * std::abs(t); });
  };
  std::vector<double> claimed(50, 1.0001);
  EXPECT_EQ(verdict(x, f, claimed), Verdict::kPass);
  for (const std::size_t at : {0, 7, 19, 20, 49}) {
    std::vector<double> wrong = claimed;
    wrong[at] = -5;
    ToyFunction function = scalar(x, f);
    const Judgement found = judged(function, wrong);
    EXPECT_EQ(found.verdict(), Verdict::kFail);
    EXPECT_EQ(std::count(found.wrong.begin(), found.wrong.end(), 1), 1);
    EXPECT_EQ(found.wrong[at], 1);
  }
}

TEST(Confirm, AtATieASubgradientOfTheWholeIsProven) {
  const std::vector<double> tied = {1, 1, 1, 0, 0.2};
  for (const std::vector<double>& claimed :
       {std::vector<double>{1, 0, 0, 0, 0}, {0, 0, 1, 0, 0}, {1.0 / 3, 1.0 / 3, 1.0 / 3, 0, 0}}) {
    EXPECT_EQ(verdict(tied, largest, claimed), Verdict::kPass);
  }
  EXPECT_EQ(verdict(tied, largest, {1, 1, 1, 0, 0}), Verdict::kInconclusive);
  EXPECT_EQ(verdict(tied, largest, {0, 0, 0, 0, 0}), Verdict::kInconclusive);
  EXPECT_EQ(verdict(tied, largest, {0.34, 1.0 / 3, 1.0 / 3, 0, 0}), Verdict::kInconclusive);
  EXPECT_EQ(verdict(tied, largest, {2, 0, 0, 0, 0}), Verdict::kFail);
  EXPECT_EQ(verdict(tied, largest, {1, 0, 0, 1, 0}), Verdict::kFail);
}

TEST(Confirm, AtATieWhereFIsCurvedASmallErrorOfTheSumIsSeen) {
  const auto f = [](const std::vector<double>& x) { return std::sin(3 * largest(x)); };
  const double slope = 3 * std::cos(3 * 0.7);
  for (const double off : {0.0, 1e-6, 1e-4}) {
    EXPECT_EQ(verdict({0.7, 0.7, 0.1}, f, {0.25 * slope + off, 0.75 * slope, 0}),
              off == 0 ? Verdict::kPass : Verdict::kInconclusive)
        << off;
  }
}

// No one-sided difference at x shows the branch in the middle: the median stays where it is.
TEST(Confirm, AtATieOfManyTheMiddleBranchIsNotRefuted) {
  for (const std::size_t ties : {3U, 5U, 7U}) {
    std::vector<double> tied(ties, 1.0);
    for (std::size_t i = 0; i < ties; ++i) tied.push_back(i % 2 == 0 ? 0.25 : 2);
    tied.pop_back();
    const auto claimed = [&](std::size_t chosen, double value) {
      std::vector<double> gradient(tied.size());
      gradient[chosen] = value;
      return gradient;
    };
    for (std::size_t chosen = 0; chosen < ties; ++chosen) {
      EXPECT_EQ(verdict(tied, median, claimed(chosen, 1)), Verdict::kInconclusive) << chosen;
      EXPECT_EQ(verdict(tied, median, claimed(chosen, 1.5)), Verdict::kFail) << chosen;
    }
    EXPECT_EQ(verdict(tied, median, claimed(ties, 1)), Verdict::kFail);
  }
}

// |x| + 2 |x + y| + |y|, at 0, where six branches meet.
double sum_of_three(const std::vector<double>& x) {
  return std::abs(x[0]) + 2 * std::abs(x[0] + x[1]) + std::abs(x[1]);
}

// On a claim of (4, 4) at 0, of no branch, by code whose gradient elsewhere is off by `off`.
Verdict verdict_on_code_at_a_crossing(double off) {
  const Tensor x = tensor_of({0, 0});
  ToyFunction f = scalar({0, 0}, sum_of_three);
  ToyGradient gradient({x}, [off](const std::vector<Tensor>& inputs, const auto&) {
    const std::vector<double> at = values_of(inputs[0]);
    const double both = 2 * std::copysign(1.0, at[0] + at[1]);
    return std::vector<Tensor>{tensor_of(
        {std::copysign(1.0, at[0]) + both + off, both + std::copysign(1.0, at[1]) + off})};
  });
  return judged(f, {4, 4}, &gradient).verdict();
}

TEST(Confirm, WhereMoreThanTwoBranchesMeetCodeThatIsRightBesideThemIsNotAccused) {
  EXPECT_EQ(verdict_on_code_at_a_crossing(0), Verdict::kInconclusive);
}

TEST(Confirm, CodeThatIsWrongBesideThemIsAccused) {
  EXPECT_EQ(verdict_on_code_at_a_crossing(1), Verdict::kFail);
}

TEST(Confirm, IndependentKinksMayChooseForThemselves) {
  const Body f = [](const std::vector<double>& v) {
    return std::abs(v[0]) - std::abs(v[1]) + 2 * std::max(v[2], 0.0) + v[3];
  };
  const std::vector<double> x = {0, 0, 0, 1};
  EXPECT_EQ(verdict(x, f, {1, 1, 0, 1}), Verdict::kPass);
  EXPECT_EQ(verdict(x, f, {-1, 1, 2, 1}), Verdict::kPass);
  EXPECT_EQ(verdict(x, f, {0.5, -0.3, 1, 1}), Verdict::kPass);
  EXPECT_EQ(verdict(x, f, {1, 1, 2.5, 1}), Verdict::kFail);
}

// An output that rounds to float32 inside: its noise is that of float32, whatever its dtype.
TEST(Confirm, TheNoiseOfFIsTheFloorOfEveryErrorBar) {
  const Body f = [](const std::vector<double>& v) {
    float sum = 0;
    for (const double t : v) sum += static_cast<float>(std::sin(t));
    return static_cast<double>(sum);
  };
  const std::vector<double> x = {0.1, -0.7, 1.3, 2.2};
  std::vector<double> claimed;
  for (const double t : x) claimed.push_back(std::cos(t));
  EXPECT_NE(verdict(x, f, claimed), Verdict::kFail);
  for (double& value : claimed) value *= 1.01;
  EXPECT_EQ(verdict(x, f, claimed), Verdict::kFail);
}

// On a tread small steps see nothing at all, and steps across few treads see any slope.
TEST(Confirm, AFunctionThatRoundsToAGridAccusesNobody) {
  const Body f = [](const std::vector<double>& v) {
    return std::nearbyint(1e6 * std::sin(v[0])) / 1e6 + std::exp(v[1]);
  };
  for (const double x : {0.05, 0.7, 1.3}) {
    EXPECT_NE(verdict({x, 0.3}, f, {std::cos(x), std::exp(0.3)}), Verdict::kFail) << x;
    EXPECT_NE(verdict({x, 0.3}, f, {1.5 * std::cos(x), std::exp(0.3)}), Verdict::kPass) << x;
  }
}

// Between points near by f is another one, and that is no branch at x: it is none nearer to x.
TEST(Confirm, WhatASmoothFunctionDoesFurtherAwayIsNoBranch) {
  const std::vector<double> x = {10000001.5, 10000002.5};
  const Body f = [](const std::vector<double>& v) { return 1 / (1 + std::exp(v[1] - v[0])); };
  const double slope = f(x) * (1 - f(x));
  EXPECT_NE(verdict(x, f, {slope, -slope}), Verdict::kFail);
  for (const double part : {0.999, 0.9, 0.1}) {
    EXPECT_NE(verdict(x, f, {slope, -part * slope}), Verdict::kPass) << part;
  }
}

// Beside kinks a curved element bends the derivatives near by; at x it does not.
TEST(Confirm, OfAnElementThatIsNothingBesideOthersFarStepsRefuteNothing) {
  // What f does on the scale of x[1], the rounding of x[0] hides, or not.
  const Body f = [](const std::vector<double>& x) {
    const double u = 0.77e7 * x[1];
    return x[0] + (3 * u + std::sin(u)) / 0.77e7;
  };
  const double slope = 3 + std::cos(0.77);
  EXPECT_EQ(verdict({1e12, 1e-7}, f, {1, slope}), Verdict::kInconclusive);
  EXPECT_EQ(verdict({1, 1e-7}, f, {1, slope}), Verdict::kPass);
  EXPECT_EQ(verdict({1, 1e-7}, f, {1, 3}), Verdict::kFail);
}

TEST(Confirm, AnElementThatMovesNothingMayStillBeRefuted) {
  const Body f = [](const std::vector<double>& x) { return x[0] + 0 * x[1]; };
  EXPECT_EQ(verdict({1, 1e-7}, f, {1, 0}), Verdict::kPass);
  EXPECT_EQ(verdict({1, 1e-7}, f, {1, 1}), Verdict::kFail);
}

TEST(Confirm, ACurvedElementDoesNotHideASlopeAtTheEndOfItsInterval) {
  const Body f = [](const std::vector<double>& v) {
    return 2 * std::sin(3 * v[0]) + std::abs(v[1]) + 0.1 * std::abs(v[2]) + 0.6 * std::abs(v[3]);
  };
  const std::vector<double> x = {0.7, 0, 0, 0};
  const double slope = 6 * std::cos(2.1);
  EXPECT_EQ(verdict(x, f, {slope, 1, 0.1, 0.6}), Verdict::kPass);
  EXPECT_EQ(verdict(x, f, {slope, -1, -0.1, -0.6}), Verdict::kPass);
  EXPECT_EQ(verdict(x, f, {slope, 1, 0.1, 0.61}), Verdict::kFail);
}

// Of steps that are powers of two apart, all may lie in step with the waves.
TEST(Confirm, WhatOtherStepsContradictIsNeitherRightNorWrong) {
  const Body f = [](const std::vector<double>& v) { return std::sin(v[0]); };
  EXPECT_EQ(verdict({1e10}, f, {std::cos(1e10)}), Verdict::kInconclusive);
  EXPECT_EQ(verdict({1e10}, f, {0.0}), Verdict::kInconclusive);
}

TEST(Confirm, PutsTheInputBack) {
  ToyFunction function = scalar({1, 1, 1, 0, 2}, median);
  judged(function, {2, 0, 0, 0, 0});
  EXPECT_THAT(values_of(function.inputs()[0]), ElementsAre(1, 1, 1, 0, 2));
}

TEST(Confirm, LooksAtNothingThatIsProven) {
  ToyFunction function = scalar({0.5, 2}, [](const std::vector<double>& v) { return v[0] * v[1]; });
  const Question question{{{1}}, {}};
  Derivatives reference = differentiate(function, 0, question);
  const std::vector<double> tolerance = formula_tolerance(reference);
  EXPECT_EQ(
      confirm(function, {0, {2, 0.5}, tolerance}, {0, 1}, 0, question, Rules(), {}, reference), 0);
}

TEST(Confirm, GivesTheSameForRowsAsForOneElementAfterTheOther) {
  const std::vector<double> x = {0, 1, 0, -1, 0, 2};
  ToyFunction relu =
      ToyFunction::elementwise(tensor_of(x), [](double t) { return std::max(t, 0.0); });
  const Question question{{{1, 2, -1, 1, 1, 3}}, {}};
  const std::vector<double> claimed = {0.5, 2, -1, 0, 1.2, 3};
  const auto confirmed = [&](std::int64_t rows) {
    Derivatives reference = differentiate(relu, 0, question, {.rows = rows});
    const std::vector<double> tolerance = formula_tolerance(reference);
    confirm(relu, {0, claimed, tolerance}, {0, 1, 2, 3, 4, 5}, rows, question, Rules(), {},
            reference);
    return judge(reference, claimed, tolerance, Rules()).wrong;
  };
  EXPECT_THAT(confirmed(0), ElementsAre(0, 0, 0, 0, 1, 0));
  EXPECT_EQ(confirmed(6), confirmed(0));
}

}  // namespace
}  // namespace fluidcore::gradcheck
