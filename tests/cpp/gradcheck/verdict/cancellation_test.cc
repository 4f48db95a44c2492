#include "fluidcore/gradcheck/verdict/cancellation.h"

#include <chrono>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/infinity.h"
#include "gradcheck/toy_formula.h"

namespace fluidcore::gradcheck {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

const std::vector<double> kCancelling = {1, -1, 2, -2};
const double kRootMeanSquare = std::sqrt(10.0 / 4);
constexpr double kSteps = 3 * 0x1p14;  // error bars of the finest steps, times x
constexpr double kRounding = 0x1p-52;

ToyFunction function_of_sum(const std::vector<double>& x, std::function<double(double)> f) {
  return ToyFunction({tensor_of(x)}, [f = std::move(f)](const std::vector<Tensor>& inputs) {
    double sum = 0;
    for (const double value : values_of(inputs[0])) sum += value;
    return std::vector<Tensor>{tensor_of({f(sum)})};
  });
}

// A claim that is off by as much at each element, which is wrong.
Judgement off_by(double distance, std::int64_t elements = 4) {
  return judge(Derivatives(1, elements),
               std::vector<double>(static_cast<std::size_t>(elements), distance),
               std::vector<double>(static_cast<std::size_t>(elements)), Rules());
}

Judgement settled(Formula& formula, Judgement found) {
  const Look look = look_at(std::ssize(found.analytical));
  settle_cancellation(formula, look, found);
  return found;
}

// By how much the limit of the first element may grow: a claim that is off by more stays wrong.
double hidden_by(Formula& formula) {
  const Judgement found = settled(formula, off_by(1e-290));
  return found.wrong[0] ? 0 : found.limit[0];
}

TEST(Cancellation, LeavesThePointWhereItIs) {
  ToyFunction f =
      ToyFunction::elementwise(tensor_of({4, 5, 6, 7}), [](double x) { return std::tanh(x); });
  Formula formula = formula_of(f);
  settled(formula, off_by(1));
  EXPECT_GT(formula.evaluations, 0);
  EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(4, 5, 6, 7));
}

TEST(Cancellation, IsSeenByOtherSigns) {
  ToyFunction f = function_of_sum(kCancelling, [](double sum) { return std::round(sum); });
  Formula formula = formula_of(f);
  // Near by it is 0 always, and up to 6 with other signs.
  const double terms = hidden_by(formula) / (kSteps * kRounding / kRootMeanSquare);
  EXPECT_NEAR(terms, std::round(terms), 1e-9);
  EXPECT_THAT(terms, AllOf(Ge(4 - 1e-9), Le(6 + 1e-9)));
}

TEST(Cancellation, HidesWhatIsOffByNoMoreThanTheGridAndTheRestStaysWrong) {
  constexpr double kGrid = 0x1p-40;
  ToyFunction f =
      function_of_sum(kCancelling, [](double sum) { return std::nearbyint(sum / kGrid) * kGrid; });
  Formula formula = formula_of(f);
  const double usual = kSteps * kGrid / kRootMeanSquare;
  const double large = kSteps * kGrid / 2;  // beside an element that is larger than usual
  for (const double sign : {1, -1}) {
    EXPECT_THAT(settled(formula, off_by(0.99 * sign * large)).wrong, Each(0));
    EXPECT_THAT(settled(formula, off_by(0.99 * sign * usual)).wrong, ElementsAre(0, 0, 1, 1));
    EXPECT_THAT(settled(formula, off_by(1.01 * sign * usual)).wrong, Each(1));
  }
  const Judgement found = settled(formula, off_by(0.99 * usual));
  EXPECT_THAT(found.unsure, ElementsAre(1, 1, 0, 0));
  EXPECT_NEAR(found.limit[0], usual, 1e-9 * usual);
  EXPECT_THAT(found.limit[2], 0);
}

TEST(Cancellation, IsWeightedAsTheOutputsAre) {
  ToyFunction f = function_of_sum(
      kCancelling, [](double sum) { return std::nearbyint(sum * 0x1p40) * 0x1p-40; });
  Formula one = formula_of(f);
  Formula eight = formula_of(f, {{-8}});
  EXPECT_NEAR(hidden_by(eight) / hidden_by(one), 8, 1e-9);
}

TEST(Cancellation, IsOfTheElementsThatWereLookedAt) {
  ToyFunction f = function_of_sum(
      kCancelling, [](double sum) { return std::nearbyint(sum * 0x1p40) * 0x1p-40; });
  Formula formula = formula_of(f);
  Look look = look_at(4);
  look.elements = {1, 3};
  Judgement found = off_by(0.99 * kSteps * 0x1p-40 / kRootMeanSquare, 2);
  settle_cancellation(formula, look, found);
  EXPECT_THAT(found.wrong, ElementsAre(0, 1));
}

TEST(Cancellation, HidesNothingOfAFunctionThatCounts) {
  constexpr double kGrid = 0x1p-20;  // more than half of the digits
  ToyFunction f =
      function_of_sum(kCancelling, [](double sum) { return std::nearbyint(sum / kGrid) * kGrid; });
  Formula formula = formula_of(f);
  EXPECT_LT(hidden_by(formula), kSteps * kRounding / kRootMeanSquare);
}

TEST(Cancellation, LeavesOutWhereFThrowsOrIsNotFinite) {
  int with_terms = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    ToyFunction f({tensor_of({1, 1, 1})}, [](const std::vector<Tensor>& inputs) {
      const std::vector<double> x = values_of(inputs[0]);
      if (x[0] < 0) throw InvalidArgument("out of the domain");
      return std::vector<Tensor>{tensor_of({x[1] < 0 ? kInfinity : x[2] < 0 ? 5 : 0})};
    });
    Formula formula = formula_of(f);
    formula.seed = seed;
    const Judgement found = settled(formula, off_by(1e-290, 3));
    const double terms = found.wrong[0] ? 0 : found.limit[0] / (kSteps * kRounding);
    if (terms == 0) continue;
    ++with_terms;
    EXPECT_NEAR(terms, 5, 1e-9) << seed;
  }
  EXPECT_GT(with_terms, 2);
}

TEST(Cancellation, HidesNothingWhereFEndsAtOnce) {
  ToyFunction f({tensor_of(kCancelling)}, [](const std::vector<Tensor>& inputs) {
    if (values_of(inputs[0]) != kCancelling) throw InvalidArgument("out of the domain");
    return std::vector<Tensor>{tensor_of({3})};
  });
  Formula formula = formula_of(f);
  // 3 has few digits, which is no grid if there is one value alone.
  const double usual = kSteps * 3 * kRounding / kRootMeanSquare;
  EXPECT_NEAR(hidden_by(formula), usual, 1e-9 * usual);
}

TEST(Cancellation, AsksNothingOfWhatIsProven) {
  ToyFunction f = function_of_sum(kCancelling, [](double sum) { return std::round(sum); });
  Formula formula = formula_of(f);
  EXPECT_THAT(settled(formula, off_by(0)).unsure, Each(0));
  EXPECT_EQ(formula.evaluations, 0);
}

TEST(Cancellation, DoesNotExcuseWhatIsWrongForAnotherReason) {
  ToyFunction f = function_of_sum(kCancelling, [](double sum) { return std::round(sum); });
  Formula formula = formula_of(f);
  Judgement found = off_by(0);
  found.wrong[1] = 1;  // as a kink is that must not be one
  EXPECT_THAT(settled(formula, found).wrong, ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(formula.evaluations, 0);
}

TEST(Cancellation, AsksNothingWithoutTimeAndBelowFloat64) {
  ToyFunction f = function_of_sum(kCancelling, [](double sum) { return std::round(sum); });
  Formula formula = formula_of(f);
  Interruption interruption;
  interruption.limit(std::chrono::seconds(0));
  f.set_interruption(&interruption);
  EXPECT_THAT(settled(formula, off_by(1e-290)).wrong, Each(1));
  EXPECT_EQ(formula.evaluations, 0);
  ToyFunction narrow({tensor_of(kCancelling, DType::kFloat32)}, [](const auto&) {
    return std::vector<Tensor>{tensor_of({0}, DType::kFloat32)};
  });
  Formula other = formula_of(narrow);
  EXPECT_THAT(settled(other, off_by(1e-290)).wrong, Each(1));
  EXPECT_EQ(other.evaluations, 0);
}

}  // namespace
}  // namespace fluidcore::gradcheck
