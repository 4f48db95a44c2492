#include "fluidcore/gradcheck/difference/climb.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/difference/differentiate.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;

using Curve = std::function<double(double)>;

Derivatives derivatives_of(const Curve& f,
                           const std::vector<double>& x,
                           DType dtype = DType::kFloat64) {
  ToyFunction function = ToyFunction::elementwise(tensor_of(x, dtype), f);
  return differentiate(function, 0, {{std::vector<double>(x.size(), 1)}, {}});
}

std::vector<double> points() {
  std::vector<double> x;
  for (int i = 0; i < 50; ++i) x.push_back(2.5 * std::sin(1.0 + i * i));
  return x;
}

struct Smooth {
  const char* name;
  Curve f;
  Curve derivative;
};

const std::vector<Smooth>& smooth() {
  static const std::vector<Smooth> functions = {
      {"exp", [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }},
      {"sin", [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }},
      {"cube", [](double x) { return x * x * x; }, [](double x) { return 3 * x * x; }},
      {"sin 20x", [](double x) { return std::sin(20 * x); },
       [](double x) { return 20 * std::cos(20 * x); }},
      {"line", [](double x) { return 3 * x - 1; }, [](double) { return 3.0; }},
  };
  return functions;
}

TEST(Climb, FindsSmoothDerivativesToTheLastDigitsWithHonestErrorBars) {
  const std::vector<double> x = points();
  for (const Smooth& function : smooth()) {
    const Derivatives found = derivatives_of(function.f, x);
    EXPECT_THAT(found.flags, Each(0)) << function.name;
    EXPECT_LE(found.evaluations, 14 * static_cast<std::int64_t>(x.size())) << function.name;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = function.derivative(x[i]);
      const double scale = std::max({1.0, std::abs(exact), std::abs(function.f(x[i]))});
      EXPECT_NEAR(found.value[i], exact, 1e-12 * scale) << function.name << " at " << x[i];
      EXPECT_LE(std::abs(found.value[i] - exact), found.error[i])
          << function.name << " at " << x[i];
      EXPECT_LE(found.error[i], 1e-9 * scale) << function.name << " at " << x[i];
    }
  }
}

TEST(Climb, IsNeverWrongNearAPoleAlthoughTheFirstStepsLeadBeyondIt) {
  const std::vector<Smooth> steep = {
      {"inverse", [](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); }},
      {"square", [](double x) { return 1 / (x * x); }, [](double x) { return -2 / (x * x * x); }},
      {"bell", [](double x) { return 1 / (1 + 1000 * x * x); },
       [](double x) { return -2000 * x / std::pow(1 + 1000 * x * x, 2); }},
      {"step", [](double x) { return std::atan(100 * x); },
       [](double x) { return 100 / (1 + 1e4 * x * x); }},
      {"tangent", [](double x) { return std::tan(x); },
       [](double x) { return 1 + std::tan(x) * std::tan(x); }},
  };
  std::vector<double> x;
  for (int i = 0; i < 60; ++i) x.push_back((i % 2 == 0 ? 1 : -1) * std::pow(10, 2 * std::sin(i)));
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    const std::vector<double> points = values_of(tensor_of(x, dtype));
    for (const Smooth& function : steep) {
      const Derivatives found = derivatives_of(function.f, x, dtype);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (found.flags[i] != 0) continue;
        const double exact = function.derivative(points[i]);
        EXPECT_LE(std::abs(found.value[i] - exact), 2 * found.error[i])
            << function.name << " at " << points[i];
      }
    }
  }
}

TEST(Climb, DoesNotTrustStepsAtWhichTheQuotientsChangeMoreAndMore) {
  // Extrapolated from steps of 2^-2 to 2^-9, the quotients agree by chance.
  const auto f = [](double x) { return 1 / (1 + 1000 * x * x); };
  const double x = -0.03177416077393934;
  const Derivatives found = derivatives_of(f, {x, 20.6, -11.3});
  EXPECT_NEAR(found.value[0], -2000 * x / std::pow(1 + 1000 * x * x, 2), 1e-7);
  EXPECT_LE(found.error[0], 1e-5);
}

TEST(Climb, AsksForSixEvaluationsOfALinearFunction) {
  EXPECT_EQ(derivatives_of([](double x) { return 2 * x; }, points()).evaluations, 1 + 6 * 50);
}

TEST(Climb, AdmitsThatAFunctionIsTooRoughForAnyStep) {
  const Derivatives found = derivatives_of([](double x) { return std::sin(1e10 * x); }, {0.3, 1.7});
  for (std::size_t i = 0; i < 2; ++i) {
    const double exact = 1e10 * std::cos(1e10 * (i == 0 ? 0.3 : 1.7));
    const bool is_known = std::abs(found.value[i] - exact) <= 3 * found.error[i];
    EXPECT_TRUE(is_known || (found.flags[i] & (kKink | kJump)) != 0);
  }
}

TEST(Climb, KnowsBothSidesOfAKink) {
  const Derivatives found = derivatives_of([](double x) { return std::max(x, 0.0); }, {0, 1, -1});
  EXPECT_THAT(found.flags, ElementsAre(kKink, 0, 0));
  EXPECT_NEAR(found.low[0], 0, 1e-12);
  EXPECT_NEAR(found.high[0], 1, 1e-12);
  EXPECT_NEAR(found.value[0], 0.5, 1e-12);
  EXPECT_EQ(found.error[0], 0);
  EXPECT_NEAR(found.scale[0], 1, 1e-12);
}

TEST(Climb, KnowsTheDerivativeWhereOnlyTheCurvatureJumps) {
  const auto elu = [](double x) { return x > 0 ? x : std::expm1(x); };
  const auto huber = [](double x) { return x > 1 ? 2 * x - 1 : x * x; };
  for (const double scale : {1.0, 30.0}) {
    const Derivatives of_elu = derivatives_of(elu, {0, scale, -scale});
    const Derivatives of_huber = derivatives_of(huber, {1, scale, -scale});
    EXPECT_EQ(of_elu.flags[0], 0);
    EXPECT_EQ(of_huber.flags[0], 0);
    EXPECT_NEAR(of_elu.value[0], 1, 3 * of_elu.error[0]);
    EXPECT_NEAR(of_huber.value[0], 2, 3 * of_huber.error[0]);
    EXPECT_LT(std::max(of_elu.error[0], of_huber.error[0]), 0.01);
  }
}

TEST(Climb, IsNeverWrongNearAKink) {
  for (const double slope : {0.0, 0.1}) {
    const auto f = [&](double x) { return x > 0 ? x : slope * x; };
    for (int exponent = -12; exponent <= -2; ++exponent) {
      for (const double sign : {1.0, -1.0}) {
        const double x = sign * std::pow(10, exponent);
        const Derivatives found = derivatives_of(f, {x, 1, -1});
        const double exact = x > 0 ? 1 : slope;
        EXPECT_GE(exact, found.low[0] - found.error[0] - 1e-12) << x;
        EXPECT_LE(exact, found.high[0] + found.error[0] + 1e-12) << x;
        // 2^-25 of the scale is far enough to step aside, and so is any x whose own steps move f.
        if (exponent >= -7 || exact != 0) {
          EXPECT_EQ(found.flags[0], 0) << x;
          EXPECT_NEAR(found.value[0], exact, 1e-6) << x;
        } else if (exponent <= -9) {
          EXPECT_EQ(found.flags[0], kKink) << x;
        }
      }
    }
  }
}

TEST(Climb, BeginsAfreshOnceTheStepIsSmallerThanTheDistanceToAKink) {
  const auto leaky_relu = [](double x) { return x > 0 ? x : 0.1 * x; };
  const Derivatives found = derivatives_of(leaky_relu, {-1.2e-4, 1, -1});
  EXPECT_NEAR(found.value[0], 0.1, 1e-10);
  EXPECT_LE(found.error[0], 1e-9);
  EXPECT_EQ(found.flags[0], 0);
}

TEST(Climb, NamesAJump) {
  const Derivatives found = derivatives_of([](double x) { return std::floor(x); }, {1, 2.5, 3});
  EXPECT_THAT(found.flags, ElementsAre(kJump, 0, kJump));
  EXPECT_EQ(found.error[0], HUGE_VAL);
  EXPECT_EQ(found.value[1], 0);
  EXPECT_EQ(found.error[1], 0);
}

TEST(Climb, NamesAJumpWhoseMiddleIsTheValueAtThePoint) {
  const auto sign = [](double x) {
    return static_cast<double>(x > 0) - static_cast<double>(x < 0);
  };
  const std::vector<Curve> jumping = {
      sign,
      [&](double x) { return 1e-6 * sign(x) + std::exp(x); },
      [&](double x) { return sign(x) * (1 + x * x) + 3 * x; },
      [&](double x) { return sign(x) * std::sqrt(std::abs(x)); },
      [](double x) { return std::cbrt(x); },
  };
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    for (std::size_t i = 0; i < jumping.size(); ++i) {
      const bool is_too_small = i == 1 && dtype == DType::kFloat32;
      if (is_too_small) continue;
      const Derivatives found = derivatives_of(jumping[i], {0, 1, -1.5}, dtype);
      EXPECT_THAT(found.flags, ElementsAre(kJump, 0, 0)) << i;
      EXPECT_EQ(found.error[0], HUGE_VAL) << i;
    }
  }
}

TEST(Climb, IsNotFooledByAFunctionThatRepeatsItself) {
  for (const double frequency : {1e2, 1e3, 1234.5, 1e4, 7e4, 1e5, 1e6, 16 * std::numbers::pi,
                                 1024 * std::numbers::pi, 16384 * std::numbers::pi}) {
    const auto f = [=](double x) { return 3 * x + std::sin(frequency * x) / frequency; };
    for (const double x : {0.3, -0.7, 1.1}) {
      const Derivatives found = derivatives_of(f, {x});
      EXPECT_EQ(found.flags[0], 0);
      EXPECT_NEAR(found.value[0], 3 + std::cos(frequency * x), 3 * found.error[0] + 1e-9);
      EXPECT_LT(found.error[0], 1e-5);
    }
  }
}

TEST(Climb, TakesNoSteepFunctionForAJump) {
  for (const double steepness : {1.0, 1e2, 1e4, 1e6}) {
    const auto f = [&](double x) { return std::tanh(steepness * x); };
    const Derivatives found = derivatives_of(f, {0, 1});
    EXPECT_THAT(found.flags, Each(0)) << steepness;
    EXPECT_NEAR(found.value[0], steepness, 1e-6 * steepness);
  }
}

TEST(Climb, SeesBothSidesOfAKinkThatIsTheSameInTheMiddle) {
  const Derivatives found = derivatives_of([](double x) { return x * std::abs(x); }, {0, 1});
  EXPECT_EQ(found.flags[0] & kJump, 0);
  EXPECT_LE(std::abs(found.value[0]), found.error[0]);
}

TEST(Climb, HasNoDerivativeWhereARootBegins) {
  const Derivatives found = derivatives_of([](double x) { return std::sqrt(x); }, {0, 1, 4});
  EXPECT_THAT(found.flags, ElementsAre(kDomain, 0, 0));
  EXPECT_TRUE(std::isnan(found.value[0]));
  EXPECT_EQ(found.low[0], -HUGE_VAL);
  EXPECT_EQ(found.high[0], HUGE_VAL);
  EXPECT_EQ(found.error[0], HUGE_VAL);
  EXPECT_EQ(found.scale[0], 0);
  EXPECT_NEAR(found.value[2], 0.25, 1e-11);
}

TEST(Climb, DifferentiatesFromTheOneSideWhereThereIsAFunction) {
  for (const double side : {1.0, -1.0}) {
    const auto f = [&](double x) { return side * x < 0 ? std::nan("") : std::exp(x); };
    const Derivatives found = derivatives_of(f, {0, side});
    EXPECT_EQ(found.flags[0], 0);
    EXPECT_NEAR(found.value[0], 1, 1e-9);
    EXPECT_LE(std::abs(found.value[0] - 1), found.error[0]);
    EXPECT_LE(found.error[0], 1e-7);
  }
}

TEST(Climb, FindsNoDerivativeAtAnIsolatedPoint) {
  const auto f = [](double x) { return x == 0 ? 1 : std::nan(""); };
  EXPECT_THAT(derivatives_of(f, {0}).flags, ElementsAre(kDomain));
}

TEST(Climb, StepsAsideFromTheEdgeOfADomain) {
  const Derivatives found = derivatives_of([](double x) { return std::log(x); }, {1e-5, 1e-2, 1});
  EXPECT_THAT(found.flags, Each(0));
  EXPECT_NEAR(found.value[0], 1e5, 1e-2);
  EXPECT_LE(std::abs(found.value[0] - 1e5), found.error[0]);
  EXPECT_NEAR(found.value[1], 100, 1e-8);
}

TEST(Climb, TakesAnExceptionAtAMovedPointForAnEdge) {
  const auto f = [](double x) {
    if (x < 0) throw std::domain_error("below zero");
    return 3 * x;
  };
  const Derivatives found = derivatives_of(f, {0, 1e-3, 1});
  EXPECT_THAT(found.flags, Each(0));
  EXPECT_NEAR(found.value[0], 3, 1e-10);
  EXPECT_NEAR(found.value[1], 3, 1e-10);
  EXPECT_EQ(found.failure, "below zero");
}

TEST(Climb, SaysNothingWhereTheFunctionIsNotFiniteAtThePoint) {
  const Derivatives found = derivatives_of([](double x) { return std::log(x); }, {0, 1});
  EXPECT_THAT(found.flags, ElementsAre(kDomain, kDomain));
  EXPECT_TRUE(std::isnan(found.value[1]));
  EXPECT_EQ(found.evaluations, 1);
  EXPECT_THAT(derivatives_of([](double x) { return x > 9 ? 0 : x; }, {HUGE_VAL, 1}).flags,
              ElementsAre(kDomain, 0));
}

TEST(Climb, KnowsThatAConstantDoesNotDepend) {
  const Derivatives found = derivatives_of([](double) { return 7; }, {1, 2});
  EXPECT_THAT(found.value, Each(0));
  EXPECT_THAT(found.error, Each(0));
  EXPECT_THAT(found.flags, Each(0));
}

TEST(Climb, ProjectsAFullJacobianOnEachCotangent) {
  const std::vector<double> x = {0.3, -1.2, 2.0, 0.7};
  ToyFunction normalize({tensor_of(x)}, [](const std::vector<Tensor>& inputs) {
    std::vector<double> y = values_of(inputs[0]);
    double squares = 0;
    for (const double value : y) squares += value * value;
    for (double& value : y) value /= std::sqrt(squares);
    return std::vector<Tensor>{tensor_of(y)};
  });
  const std::vector<std::vector<double>> vs = {{1, 2, -1, 0.5}, {0, 0, 3, 1}, x};
  const Derivatives found = differentiate(normalize, 0, {vs, {}});
  double squares = 0;
  for (const double value : x) squares += value * value;
  for (std::size_t c = 0; c < vs.size(); ++c) {
    double along = 0;
    for (std::size_t j = 0; j < 4; ++j) along += vs[c][j] * x[j];
    for (std::size_t i = 0; i < 4; ++i) {
      const double exact = (vs[c][i] - along * x[i] / squares) / std::sqrt(squares);
      EXPECT_NEAR(found.value[c * 4 + i], exact, 1e-12);
      EXPECT_LE(std::abs(found.value[c * 4 + i] - exact), found.error[c * 4 + i] + 1e-16);
      EXPECT_GE(found.scale[c * 4 + i], std::abs(exact) - 1e-12);
    }
  }
}

TEST(Climb, CountsAnOutputThatMovesLateAsStillBefore) {
  // The second output looks at the element through a window of 1e-3 only.
  ToyFunction function({tensor_of({0, 1})}, [](const std::vector<Tensor>& inputs) {
    const double x = inputs[0].get_float_element(0);
    return std::vector<Tensor>{tensor_of({x}), tensor_of({std::abs(x) < 1e-3 ? 1 + x : 1})};
  });
  const Derivatives found = differentiate(function, 0, {{{0, 1}}, {}});
  const bool is_known = std::abs(found.value[0] - 1) <= 3 * found.error[0];
  const bool is_flagged = (found.flags[0] & (kKink | kJump)) != 0;
  EXPECT_TRUE(is_known || is_flagged || found.value[0] == 0);
}

struct Low {
  DType dtype;
  double accuracy;
};

class LowPrecision : public testing::TestWithParam<Low> {};

TEST_P(LowPrecision, FindsDerivativesToTheDigitsThatThereAre) {
  const std::vector<double> x = values_of(tensor_of(points(), GetParam().dtype));
  const Derivatives found =
      derivatives_of([](double x) { return std::sin(x); }, x, GetParam().dtype);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(found.value[i], std::cos(x[i]), GetParam().accuracy) << x[i];
    EXPECT_LE(std::abs(found.value[i] - std::cos(x[i])), 5 * found.error[i]) << x[i];
  }
}

TEST_P(LowPrecision, DoesNotTakeAnAbsorbedStepForIndependence) {
  const auto f = [](double x) { return 1e9 + x; };
  ToyFunction absorbing(
      {tensor_of({0.5, -0.5}, GetParam().dtype)}, [&](const std::vector<Tensor>& inputs) {
        const double x = inputs[0].get_float_element(0);
        const double y = inputs[0].get_float_element(1);
        return std::vector<Tensor>{
            tensor_of({GetParam().dtype == DType::kFloat16 ? 6e4 + x : f(x), y}, GetParam().dtype)};
      });
  const Derivatives found = differentiate(absorbing, 0, {{{1, 1}}, {}});
  EXPECT_EQ(found.value[0], 0);
  EXPECT_GE(3 * found.error[0], 1);
  EXPECT_EQ(found.flags[0], kAbsorbed);
}

TEST_P(LowPrecision, DoesNotMindStillOutputsThatHideNothing) {
  ToyFunction function = ToyFunction::elementwise(tensor_of({0.5, -0.5}, GetParam().dtype),
                                                  [](double x) { return 2 * x; });
  const Derivatives found = differentiate(function, 0, {{{1, 1}}, {}});
  EXPECT_THAT(found.flags, Each(0));
}

INSTANTIATE_TEST_SUITE_P(Climb,
                         LowPrecision,
                         testing::Values(Low{DType::kFloat32, 1e-4},
                                         Low{DType::kFloat16, 0.1},
                                         Low{DType::kBFloat16, 0.4}),
                         [](const auto& info) { return std::string(to_string(info.param.dtype)); });

}  // namespace
}  // namespace fluidcore::gradcheck
