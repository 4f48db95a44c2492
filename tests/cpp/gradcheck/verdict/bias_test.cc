// Mean and spread of the difference between two gradients, around a point.

#include "fluidcore/gradcheck/verdict/bias.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_function.h"
#include "gradcheck/toy_gradient.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::ElementsAre;

using Numbers = std::vector<double>;

const Numbers kRecordedPoint = {0.5, -1.25, 2, 0.75};

Numbers mean_of(const std::vector<Numbers>& rows) {
  Numbers mean(rows.at(0).size());
  for (const Numbers& row : rows) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += row[i] / static_cast<double>(rows.size());
    }
  }
  return mean;
}

// x^3 with a kernel that is off by another number each time; remembers all calls of both.
class Recorded {
 public:
  struct Call {
    Numbers x;
    Numbers v;
    Numbers gradient;
  };
  // The number of the call, the gradient: throws, or returns another one.
  using Action = std::function<void(std::size_t, Numbers&)>;

  explicit Recorded(std::size_t cotangents = 1,
                    Action kernel_action = {},
                    Action formula_action = {},
                    bool has_fixed_cotangent = false)
      : x_(tensor_of(kRecordedPoint, DType::kFloat32)),
        f_(ToyFunction::elementwise(tensor_of(kRecordedPoint), [](double x) { return x * x * x; })),
        kernel_({x_}, recording(kernel_calls, std::move(kernel_action), 0.01), has_fixed_cotangent),
        formula_({tensor_of(kRecordedPoint)},
                 recording(formula_calls, std::move(formula_action), 0)),
        pair{kernel_, formula_, f_, {}, 0} {
    for (std::size_t row = 0; row < cotangents; ++row) {
      const double v = 1 + static_cast<double>(row);
      pair.cotangents.push_back({tensor_of({v, v, v, v}, DType::kFloat32)});
    }
  }

  Bias around(bool itself = true, const Elements& kept = std::nullopt) {
    return bias_around(pair, {x_}, "dither", itself, {kept});
  }

  std::vector<Call> kernel_calls;
  std::vector<Call> formula_calls;

 private:
  ToyGradient::Body recording(std::vector<Call>& calls, Action action, double part) const {
    return [&calls, action = std::move(action), part](const auto& x, const auto& v) {
      Call call{values_of(x[0]), values_of(v[0]), {}};
      for (std::size_t i = 0; i < kRecordedPoint.size(); ++i) {
        const double off = part * std::sin(17.0 * static_cast<double>(calls.size() + i));
        call.gradient.push_back(3 * call.v[i] * call.x[i] * call.x[i] + off);
      }
      if (action) action(calls.size(), call.gradient);
      calls.push_back(call);
      return std::vector<Tensor>{tensor_of(call.gradient)};
    };
  }

  Tensor x_;
  ToyFunction f_;
  ToyGradient kernel_;
  ToyGradient formula_;

 public:
  GradientPair pair;
};

std::vector<Numbers> apart(const Recorded& at, std::size_t first, std::size_t last) {
  std::vector<Numbers> rows;
  for (std::size_t q = first; q < last; ++q) {
    Numbers& row = rows.emplace_back(at.kernel_calls[q].gradient);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] -= at.formula_calls[q].gradient[i];
  }
  return rows;
}

// As close as a gradient stays to itself at the points.
void expect_moments(const Bias& found, const std::vector<Numbers>& rows) {
  constexpr double kClose = 2e-3;
  const Numbers mean = mean_of(rows);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double squares = 0;
    for (const Numbers& row : rows) squares += (row[i] - mean[i]) * (row[i] - mean[i]);
    const double spread = std::sqrt(squares / static_cast<double>(rows.size() - 1));
    EXPECT_NEAR(found.values[0][i].mean, mean[i], kClose * spread);
    EXPECT_NEAR(found.values[0][i].spread, spread, kClose * spread);
  }
}

TEST(BiasTest, MeanAndSpreadAreThoseOfNinePoints) {
  Recorded at;
  const Bias found = at.around();
  ASSERT_EQ(at.kernel_calls.size(), 9u);
  expect_moments(found, apart(at, 0, 9));
}

TEST(BiasTest, ADifferenceMayBeAPartOfAGradientThatChangesItsSign) {
  const Tensor x = tensor_of({1}, DType::kFloat32);
  int calls = 0;
  const auto at = [](int call) { return (call % 2 == 0 ? 1 : -1) * (3.0 + call % 4); };
  ToyGradient kernel({x}, [&](const auto& /*x*/, const auto& /*v*/) {
    return std::vector<Tensor>{tensor_of({-at(calls) + 1e-3 * (calls % 3 - 1)})};
  });
  ToyGradient formula({tensor_of({1})}, [&](const auto& /*x*/, const auto& /*v*/) {
    return std::vector<Tensor>{tensor_of({at(calls++)})};
  });
  ToyFunction f = ToyFunction::elementwise(tensor_of({1}), [](double value) { return value; });
  const GradientPair pair{kernel, formula, f, {{tensor_of({1}, DType::kFloat32)}}, 0};
  const Bias found = bias_around(pair, {x}, "dither", true, {std::nullopt});
  EXPECT_NEAR(found.values[0][0].part, -2, 1e-3);
  EXPECT_LT(found.values[0][0].mean, -6) << "the sign is that of the first point";
  EXPECT_LT(found.values[0][0].spread, 2e-3);
}

TEST(BiasTest, EveryCotangentHasItsOwn) {
  Recorded at(3);
  const Bias found = at.around();
  EXPECT_EQ(found.values[0].size(), 12u);
  EXPECT_EQ(&found.at(0, {2, 0}, 2), &found.values[0][4 + 2]);
  EXPECT_EQ(&found.at(0, {2, 0}, 3), &found.values[0][4 + 0]);
}

TEST(BiasTest, OnlySomeElementsMayBeKept) {
  Recorded all;
  Recorded some;
  const Bias kept = some.around(true, {{1, 3}});
  const Bias whole = all.around();
  EXPECT_EQ(kept.values[0].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(kept.at(0, {1, 3}, i).mean, whole.at(0, {1, 3}, i).mean);
  }
}

TEST(BiasTest, TheCentreMayBeOneOfThePoints) {
  for (const bool itself : {true, false}) {
    Recorded at;
    at.around(itself);
    std::set<Numbers> points;
    std::set<Numbers> cotangents;
    for (std::size_t q = 0; q < 9; ++q) {
      EXPECT_EQ(at.kernel_calls[q].x == kRecordedPoint, itself && q == 0);
      points.insert(at.kernel_calls[q].x);
      cotangents.insert(at.kernel_calls[q].v);
    }
    EXPECT_EQ(points.size(), 9u);
    EXPECT_EQ(cotangents.size(), 9u);
  }
}

TEST(BiasTest, BothGradientsAreTakenAtTheSamePointsCloseToTheCentre) {
  Recorded at;
  at.around();
  double most = 0;
  for (std::size_t q = 0; q < 9; ++q) {
    EXPECT_EQ(at.kernel_calls[q].x, at.formula_calls[q].x);
    EXPECT_EQ(at.kernel_calls[q].v, at.formula_calls[q].v);
    for (std::size_t i = 0; i < kRecordedPoint.size(); ++i) {
      most = std::max(most, std::abs(at.kernel_calls[q].x[i] / kRecordedPoint[i] - 1));
    }
  }
  EXPECT_GT(most, 0.8 * 0x1p-12);
  EXPECT_LT(most, 1.1 * 0x1p-12);
}

TEST(BiasTest, AFixedCotangentStays) {
  Recorded at(1, {}, {}, true);
  at.around();
  for (const Recorded::Call& call : at.kernel_calls) EXPECT_THAT(call.v, ElementsAre(1, 1, 1, 1));
}

// NaN from call number `first` on.
Recorded::Action nan_from(std::size_t first) {
  return [first](std::size_t call, Numbers& gradient) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (call >= first) gradient.assign(gradient.size(), nan);
  };
}

TEST(BiasTest, PointsOutsideOfTheDomainDoNotCount) {
  Recorded at(1, {}, nan_from(5));
  const Bias found = at.around();
  expect_moments(found, apart(at, 0, 5));
}

TEST(BiasTest, LessThanFivePointsMakeNoMean) {
  Recorded at(1, {}, nan_from(4));
  const Bias found = at.around();
  for (const Bias::Element& element : found.values[0]) {
    EXPECT_TRUE(std::isnan(element.mean));
    EXPECT_TRUE(std::isnan(element.part));
  }
}

TEST(BiasTest, AKernelThatIsNotFiniteWhereTheFormulaIsHasNoMean) {
  Recorded at(1, nan_from(8));
  const Bias found = at.around();
  for (const Bias::Element& element : found.values[0]) {
    EXPECT_TRUE(std::isnan(element.mean));
  }
}

TEST(BiasTest, AnExceptionGoesThroughOnlyAtTheCentre) {
  const auto outside_from = [](std::size_t first) -> Recorded::Action {
    return [first](std::size_t call, Numbers& /*gradient*/) {
      if (call >= first) throw std::runtime_error("outside");
    };
  };
  Recorded late(1, {}, outside_from(6));
  const Bias some = late.around();
  for (const Bias::Element& element : some.values[0]) {
    EXPECT_TRUE(std::isfinite(element.mean));
  }
  Recorded nowhere(1, outside_from(0));
  EXPECT_THROW(nowhere.around(), std::runtime_error);
  const Bias elsewhere = nowhere.around(false);
  for (const Bias::Element& element : elsewhere.values[0]) {
    EXPECT_TRUE(std::isnan(element.mean));
  }
}

}  // namespace
}  // namespace fluidcore::gradcheck
