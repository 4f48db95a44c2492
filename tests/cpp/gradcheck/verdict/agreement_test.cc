#include "fluidcore/gradcheck/verdict/agreement.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/difference/differentiate.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;

const std::vector<double> kPoints = {0.3, -1.2, 2.5, 0.7};

Derivatives once(Function& function, const Question& question) {
  DifferentiateOptions how;
  how.approach.once = true;
  return differentiate(function, 0, question, how);
}

Derivatives once(const std::function<double(double)>& f, const std::vector<double>& x) {
  ToyFunction function = ToyFunction::elementwise(tensor_of(x), f);
  return once(function, {{std::vector<double>(x.size(), 1)}, {}});
}

std::vector<double> cosines() {
  std::vector<double> values = kPoints;
  for (double& value : values) value = std::cos(value);
  return values;
}

TEST(Agreement, ProvesARightGradientInTwoRunsForEachElement) {
  Derivatives found = once(sine, kPoints);
  EXPECT_EQ(found.evaluations, 1 + 2 * std::ssize(kPoints));
  EXPECT_THAT(agreement(found, cosines()), Each(1));
  EXPECT_EQ(found.low, found.value);
  EXPECT_EQ(found.high, found.value);
}

TEST(Agreement, HasErrorBarsThatHoldTheTruthAndAreSmall) {
  Derivatives found = once(sine, kPoints);
  const std::vector<double> exact = cosines();
  agreement(found, exact);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LE(std::abs(found.value[i] - exact[i]), found.error[i]);
    EXPECT_LE(found.error[i], 2e-9);
  }
}

TEST(Agreement, DoesNotProveAnElementThatIsWrongByMoreThanItsErrorBars) {
  for (const double off : {1e-8, 1e-5, 0.1, 2.0}) {
    for (const double sign : {1.0, -1.0}) {
      Derivatives found = once(sine, kPoints);
      std::vector<double> claimed = cosines();
      claimed[1] *= 1 + sign * off;
      EXPECT_THAT(agreement(found, claimed), ElementsAre(1, 0, 1, 1)) << sign * off;
    }
  }
}

TEST(Agreement, MeasuresNoElementByDifferencesAcrossAJump) {
  for (const bool jumps : {false, true}) {
    Derivatives found = once([=](double x) { return std::sin(x) + (jumps && x >= 2.5); }, kPoints);
    std::vector<double> claimed = cosines();
    claimed[1] += 1e-8;
    EXPECT_THAT(agreement(found, claimed), ElementsAre(1, 0, jumps ? 0 : 1, 1));
  }
}

TEST(Agreement, NeedsEveryCotangent) {
  ToyFunction function = ToyFunction::elementwise(tensor_of(kPoints), sine);
  Derivatives found = once(function, {{{1, 1, 1, 1}, {2, 2, 2, 2}}, {}});
  std::vector<double> claimed = cosines();
  for (const double value : cosines()) claimed.push_back(2 * value);
  claimed[6] += 0.01;
  EXPECT_THAT(agreement(found, claimed), ElementsAre(1, 1, 0, 1));
}

TEST(Agreement, LeavesTheMiddleOfAKinkOpen) {
  Derivatives found = once([](double x) { return std::max(x, 0.0); }, {0, 1, -1});
  EXPECT_THAT(agreement(found, {0.5, 1, 0}), ElementsAre(0, 1, 1));
}

TEST(Agreement, LeavesOpenWhatRoundingHides) {
  Derivatives found = once([](double x) { return 1e9 + std::sin(x); }, kPoints);
  EXPECT_THAT(agreement(found, cosines()), Each(0));
}

TEST(Agreement, LeavesOpenWhatOnlyALargeStepMoves) {
  const auto staircase = [](double x) { return std::round(100 * x) / 100; };
  Derivatives found = once(staircase, {0.301, 1, -1});
  EXPECT_THAT(agreement(found, {0, 0, 0}), Each(0));
}

TEST(Agreement, KnowsAnElementThatMovesNothing) {
  Derivatives found = once([](double x) { return std::max(x, 0.0); }, {-2, 1, -1});
  EXPECT_EQ(found.evaluations, 1 + 4 + 2 + 4);
  EXPECT_THAT(agreement(found, {0, 1, 1e-12}), ElementsAre(1, 1, 0));
  EXPECT_EQ(found.error[0], 0);
}

TEST(Agreement, LeavesOpenWhereFIsNotFiniteOrThrows) {
  Derivatives found = once([](double x) { return std::sqrt(x); }, {0, 1});
  EXPECT_THAT(agreement(found, {0, 0.5}), ElementsAre(0, 1));
}

TEST(Agreement, IsForFloat64) {
  ToyFunction function = ToyFunction::elementwise(tensor_of(kPoints, DType::kFloat32), sine);
  Derivatives found = once(function, {{{1, 1, 1, 1}}, {}});
  EXPECT_EQ(found.evaluations, 1);
  EXPECT_THAT(agreement(found, cosines()), Each(0));
}

}  // namespace
}  // namespace fluidcore::gradcheck
