#include "fluidcore/gradcheck/verdict/own_rounding.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "gradcheck/toy_formula.h"
#include "gradcheck/toy_gradient.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;

const std::vector<double> kDoubledPoint = {1, -2, 1.5, 3, -1};
const std::vector<std::vector<double>> kDoubledWeights = {{1, -0.5, 2, 1.5, -1},
                                                          {0.25, 1, -1, 2, 1}};
constexpr double kOff = 0.5;

// f = 2 x; the gradient by some elements is off by kOff, and by less beside the point.
class Doubled {
 public:
  // `stays`: the part of kOff that is left there.
  explicit Doubled(double stays, std::vector<std::size_t> at = {1}, DType dtype = DType::kFloat32)
      : f_(ToyFunction::elementwise(tensor_of(kDoubledPoint, dtype),
                                    [](double x) { return 2 * x; })),
        gradient_(f_.inputs(),
                  [this, stays, at = std::move(at)](const auto& x, const auto& v) {
                    const std::vector<double> here = values_of(x[0]);
                    if (here != kDoubledPoint) points.push_back(here);
                    if (here != kDoubledPoint && beside) beside();
                    std::vector<double> found = values_of(v[0]);
                    const std::vector<double> cotangent = found;
                    for (double& value : found) value *= 2;
                    for (const std::size_t i : at) {
                      found[i] += kOff * (here == kDoubledPoint ? 1 : stays) * cotangent[i];
                    }
                    return std::vector<Tensor>{tensor_of(found, x[0].dtype())};
                  }),
        formula(formula_of(f_, kDoubledWeights)) {
    formula.gradient = &gradient_;
    formula.rules = Rules::of(dtype, true);
    formula.alone = true;
    look.elements = {0, 1, 2, 3, 4};
  }

  // `scale`: of the derivatives, times those of the terms.
  Judgement judged(double scale = 1) {
    const std::size_t elements = look.elements.size();
    reference_ = Derivatives(2, std::ssize(look.elements));
    std::vector<double> claimed(2 * elements);
    std::vector<double> tolerance(2 * elements);
    for (std::size_t row = 0; row < 2; ++row) {
      const auto g = values_of(
          gradient_.at(f_.inputs(), {tensor_of(kDoubledWeights[row], f_.inputs()[0].dtype())})[0]);
      for (std::size_t j = 0; j < elements; ++j) {
        const auto element = static_cast<std::size_t>(look.elements[j]);
        const std::size_t i = row * elements + j;
        reference_.value[i] = 2 * kDoubledWeights[row][element];
        reference_.scale[i] = scale * std::abs(kDoubledWeights[row][element]);
        tolerance[i] = 1e-3 * std::abs(kDoubledWeights[row][element]);
        claimed[i] = g[element];
      }
    }
    reference_.low = reference_.high = reference_.value;
    return judge(reference_, claimed, tolerance, formula.rules);
  }

  Judgement settled(double scale = 1) {
    Judgement found = judged(scale);
    points.clear();
    settle_own_rounding(formula, look, reference_, found);
    return found;
  }

  void interrupt_by(Interruption* interruption) {
    f_.set_interruption(interruption);
    gradient_.set_interruption(interruption);
  }

  std::vector<std::vector<double>> points;  // other than x, that were asked
  std::function<void()> beside;             // is called there
  Look look;

 private:
  Derivatives reference_;
  ToyFunction f_;
  ToyGradient gradient_;

 public:
  Formula formula;
};

// By how much points are away, relative to x.
std::vector<double> move_to(const std::vector<double>& point) {
  std::vector<double> move;
  for (std::size_t i = 0; i < kDoubledPoint.size(); ++i) {
    move.push_back(point[i] / kDoubledPoint[i] - 1);
  }
  return move;
}

TEST(OwnRounding, MayBeFourTimesWhatDiffersBetweenPoints) {
  for (const auto& [change, is_open] :
       {std::pair(0.24, false), std::pair(0.26, true), std::pair(1.0, true)}) {
    Doubled checked(1 - change);
    const Judgement before = checked.judged();
    EXPECT_THAT(before.wrong, ElementsAre(0, 1, 0, 0, 0, 0, 1, 0, 0, 0));
    const Judgement found = checked.settled();
    for (std::size_t i = 0; i < 10; ++i) {
      const bool is_off = i % 5 == 1;
      EXPECT_EQ(found.wrong[i], is_off && !is_open);
      EXPECT_EQ(found.unsure[i], is_off && is_open);
      double limit = before.limit[i];
      if (is_off && is_open) limit += 4 * change * kOff * std::abs(kDoubledWeights[i / 5][1]);
      EXPECT_NEAR(found.limit[i], limit, 1e-4 * limit);
      if (!is_off || !is_open) {
        EXPECT_EQ(found.limit[i], before.limit[i]);
      }
    }
  }
}

TEST(OwnRounding, IsNoErrorThatStays) {
  EXPECT_THAT(Doubled(1).settled().wrong, ElementsAre(0, 1, 0, 0, 0, 0, 1, 0, 0, 0));
}

TEST(OwnRounding, IsOfTheElementsThatWereLookedAt) {
  Doubled wrong(1, {3});
  wrong.look.elements = {0, 3};
  EXPECT_THAT(wrong.settled().wrong, ElementsAre(0, 1, 0, 1));
  Doubled open(0, {3});
  open.look.elements = {3, 4};
  EXPECT_THAT(open.settled().unsure, ElementsAre(1, 0, 1, 0));
}

TEST(OwnRounding, IsLookedForAtSixPairsOfPointsOnEitherSide) {
  Doubled checked(1);
  checked.settled();
  EXPECT_EQ(checked.points.size(), 2U * 6 * 2);
  std::map<std::vector<double>, int> moves;
  for (const std::vector<double>& point : checked.points) ++moves[move_to(point)];
  EXPECT_EQ(moves.size(), 12U);
  for (const auto& [move, count] : moves) {
    EXPECT_EQ(count, 2);  // for each cotangent
    double opposite = 1;
    for (const auto& [other, unused] : moves) {
      double apart = 0;
      for (std::size_t i = 0; i < kDoubledPoint.size(); ++i) {
        apart = std::max(apart, std::abs(move[i] + other[i]));
      }
      opposite = std::min(opposite, apart);
    }
    EXPECT_LT(opposite, 4 * 0x1p-24);
  }
}

TEST(OwnRounding, IsLookedForManyRoundingUnitsAwayAndMoreWhereFIsStill) {
  struct Case {
    DType dtype;
    double scale;
    double size;
    double unit;
  };
  for (const Case& one :
       {Case{DType::kFloat64, 1, 0x1p-38, 0x1p-52}, Case{DType::kFloat32, 1, 0x1p-12, 0x1p-23},
        Case{DType::kFloat16, 1, 0x1p-6, 0x1p-10}, Case{DType::kBFloat16, 1, 0x1p-6, 0x1p-7},
        Case{DType::kFloat32, 0, 0x1p-6, 0x1p-23}}) {
    Doubled checked(1, {1}, one.dtype);
    checked.settled(one.scale);
    double farthest = 0;
    for (const std::vector<double>& point : checked.points) {
      for (const double move : move_to(point)) farthest = std::max(farthest, std::abs(move));
    }
    EXPECT_GE(farthest, 0.8 * one.size - one.unit);
    EXPECT_LE(farthest, one.size + one.unit);
  }
}

// That nothing is asked, and nothing changes.
void expect_untouched(Doubled& checked) {
  const Judgement before = checked.judged();
  const Judgement found = checked.settled();
  EXPECT_EQ(found.wrong, before.wrong);
  EXPECT_EQ(found.unsure, before.unsure);
  EXPECT_EQ(found.limit, before.limit);
  EXPECT_TRUE(checked.points.empty());
}

TEST(OwnRounding, OfAFormulaShowsForOtherCotangentsAtThePoint) {
  for (const bool is_rounding : {false, true}) {
    ToyFunction f = ToyFunction::elementwise(tensor_of(kDoubledPoint, DType::kFloat64),
                                             [](double x) { return 2 * x; });
    ToyGradient gradient(f.inputs(), [&](const auto& x, const auto& v) {
      EXPECT_EQ(values_of(x[0]), kDoubledPoint);
      std::vector<double> found = values_of(v[0]);
      const bool is_off = !is_rounding || found == kDoubledWeights[0];
      for (double& value : found) value *= 2;
      if (is_off) found[1] += kOff;
      return std::vector<Tensor>{tensor_of(found)};
    });
    Formula formula = formula_of(f, {kDoubledWeights[0]});
    formula.gradient = &gradient;
    Look look;
    look.elements = {0, 1, 2, 3, 4};
    Derivatives reference(1, 5);
    std::vector<double> claimed;
    for (std::size_t i = 0; i < kDoubledPoint.size(); ++i) {
      reference.value[i] = 2 * kDoubledWeights[0][i];
      reference.scale[i] = 1;
      claimed.push_back(reference.value[i] + (i == 1 ? kOff : 0));
    }
    reference.low = reference.high = reference.value;
    Judgement found = judge(reference, claimed, std::vector<double>(5, 1e-3), formula.rules);
    settle_own_rounding(formula, look, reference, found);
    EXPECT_EQ(found.wrong[1], is_rounding ? 0 : 1);
    EXPECT_EQ(found.unsure[1], is_rounding ? 1 : 0);
  }
}

TEST(OwnRounding, IsNotLookedForWithoutAGradient) {
  Doubled checked(0);
  checked.formula.gradient = nullptr;
  expect_untouched(checked);
}

TEST(OwnRounding, IsNotLookedForWithoutTime) {
  Doubled checked(0);
  Interruption interruption;
  interruption.limit(std::chrono::seconds(0));
  checked.interrupt_by(&interruption);
  expect_untouched(checked);
}

TEST(OwnRounding, OfWhatIsRightIsNotAskedAgain) {
  Doubled checked(0, {});
  expect_untouched(checked);
}

TEST(OwnRounding, SaysNothingWhereTheGradientEndsOrIsNotFinite) {
  Doubled throwing(0);
  throwing.beside = [] { throw InvalidArgument("out of the domain"); };
  EXPECT_THAT(throwing.settled().wrong, ElementsAre(0, 1, 0, 0, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(Doubled(std::nan("")).settled().wrong, ElementsAre(0, 1, 0, 0, 0, 0, 1, 0, 0, 0));
}

TEST(OwnRounding, EndsWithWhatTheUserInterrupts) {
  Doubled checked(0);
  Interruption interruption;
  checked.interrupt_by(&interruption);
  checked.beside = [&] { interruption.request(); };
  EXPECT_THROW(with_plain_exceptions([&] { return checked.settled(); }), Interrupted);
}

}  // namespace
}  // namespace fluidcore::gradcheck
