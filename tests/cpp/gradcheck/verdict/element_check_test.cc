#include "fluidcore/gradcheck/verdict/element_check.h"

#include <chrono>
#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/verdict/comparison.h"
#include "gradcheck/toy_formula.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;

const std::vector<double> kAngles = {0.5, -0.25, 1.5};

ToyFunction sine_of_angles() {
  return ToyFunction::elementwise(tensor_of(kAngles), [](double t) { return std::sin(t); });
}

std::vector<double> claimed_cosines(double factor = 1) {
  std::vector<double> claimed;
  for (const double t : kAngles) claimed.push_back(std::cos(t));
  claimed[1] *= factor;
  return claimed;
}

ElementCheck checked(Formula& formula, const ElementClaim& claim) {
  const std::int64_t size = formula.f.inputs()[0].size();
  return *check_elements(formula, look_at(size), claim);
}

ElementCheck checked(const ElementClaim& claim) {
  ToyFunction f = sine_of_angles();
  Formula formula = formula_of(f);
  return checked(formula, claim);
}

TEST(ElementCheck, ARightGradientPassesByOneMeasurement) {
  ToyFunction f = sine_of_angles();
  Formula formula = formula_of(f);
  const ElementCheck found = checked(formula, {claimed_cosines()});
  EXPECT_EQ(found.judgement.verdict(), Verdict::kPass);
  EXPECT_TRUE(found.judgement.is_proven());
  EXPECT_FALSE(found.heights.has_value());
  EXPECT_FALSE(found.along.has_value());
  EXPECT_TRUE(found.trusts_reference());
  EXPECT_EQ(found.trusted().value, found.reference.value);
  EXPECT_EQ(found.trusted().error, found.reference.error);
  EXPECT_LE(formula.evaluations, 3 * 7);
}

TEST(ElementCheck, AWrongElementFailsOnlyAfterASecondMeasurement) {
  ToyFunction f = sine_of_angles();
  Formula formula = formula_of(f);
  const std::vector<double> claimed = claimed_cosines(1.001);
  compare(formula, look_at(3), &claimed);
  const std::int64_t first = std::exchange(formula.evaluations, 0);
  const ElementCheck found = checked(formula, {claimed});
  EXPECT_GT(formula.evaluations, first + 5);
  EXPECT_EQ(found.judgement.verdict(), Verdict::kFail);
  EXPECT_THAT(found.judgement.wrong, ElementsAre(0, 1, 0));
  EXPECT_EQ(values_of(f.inputs()[0]), kAngles);
}

TEST(ElementCheck, WhatIsRefutedIsNoReferenceForAKernel) {
  const ElementCheck found = checked({claimed_cosines(1.001)});
  EXPECT_FALSE(found.trusts_reference());
  const Derivatives trusted = found.trusted();
  EXPECT_EQ(trusted.value, claimed_cosines(1.001));
  EXPECT_EQ(trusted.scale, found.reference.scale);
  EXPECT_THAT(trusted.error, Each(0));
}

TEST(ElementCheck, WhatOneMeasurementRefutesIsOpenOnceTheTimeIsOver) {
  // The time is over with the last run of the first measurement.
  std::int64_t last = 0;
  for (const bool ends : {false, true}) {
    Interruption interruption;
    interruption.limit(std::chrono::hours(1));
    std::int64_t runs = 0;
    ToyFunction f({tensor_of(kAngles)}, [&](const std::vector<Tensor>& inputs) {
      if (++runs == last) interruption.limit(std::chrono::seconds(0));
      std::vector<double> y = values_of(inputs[0]);
      for (double& value : y) value = std::sin(value);
      return std::vector<Tensor>{tensor_of(y)};
    });
    Formula formula = formula_of(f);
    f.set_interruption(&interruption);
    if (!ends) {
      const std::vector<double> claimed = claimed_cosines(1.001);
      compare(formula, look_at(3), &claimed);
      last = runs;
      continue;
    }
    const ElementCheck found = checked(formula, {claimed_cosines(1.001)});
    EXPECT_EQ(found.judgement.verdict(), Verdict::kInconclusive);
    EXPECT_THAT(found.judgement.wrong, Each(0));
    EXPECT_THAT(found.judgement.unsure, ElementsAre(0, 1, 0));
    EXPECT_THAT(found.reference.flags, ElementsAre(0, kLate, 0));
    EXPECT_THAT(found.judgement.doubts(found.reference.flags), ElementsAre("budget"));
    EXPECT_EQ(runs, last);
  }
}

TEST(ElementCheck, ATimeLimitEndsASecondMeasurement) {
  ToyFunction plain = sine_of_angles();
  Formula before = formula_of(plain);
  const std::vector<double> claimed = claimed_cosines(1.001);
  compare(before, look_at(3), &claimed);
  const std::int64_t first = before.evaluations;
  Interruption interruption;
  std::int64_t runs = 0;
  ToyFunction f({tensor_of(kAngles)}, [&](const std::vector<Tensor>& inputs) {
    if (++runs == first + 8) interruption.limit(std::chrono::seconds(0));
    std::vector<double> y = values_of(inputs[0]);
    for (double& value : y) value = std::sin(value);
    return std::vector<Tensor>{tensor_of(y)};
  });
  Formula formula = formula_of(f);
  f.set_interruption(&interruption);
  EXPECT_THROW(checked(formula, {claimed}), TimedOut);
  EXPECT_EQ(values_of(f.inputs()[0]), kAngles);
}

TEST(ElementCheck, OverflowsStayOpen) {
  for (const double infinite : {kInfinity, -kInfinity, std::nan("")}) {
    std::vector<double> claimed = claimed_cosines();
    claimed[1] = infinite;
    const ElementCheck found = checked({.value = claimed, .overflows = {0, 1, 0}});
    EXPECT_EQ(found.judgement.verdict(), Verdict::kInconclusive);
    EXPECT_THAT(found.judgement.wrong, Each(0));
    EXPECT_THAT(found.judgement.unsure, ElementsAre(0, 1, 0));
    EXPECT_THAT(found.reference.flags, ElementsAre(0, kDomain, 0));
    EXPECT_EQ(found.reference.error[1], kInfinity);
    EXPECT_THAT(found.judgement.doubts(found.reference.flags), ElementsAre("domain"));
  }
}

TEST(ElementCheck, AllowsForFourStandardDeviationsOfTheGradient) {
  const std::vector<double> deviation = {0, 1e-6, 0};
  for (const double sign : {1, -1}) {
    for (const auto& [deviations, is_wrong] : {std::pair(3.9, 0), std::pair(4.1, 1)}) {
      std::vector<double> claimed = claimed_cosines();
      claimed[1] += sign * deviations * 1e-6;
      const ElementCheck found = checked({.value = claimed, .deviation = deviation});
      EXPECT_THAT(found.judgement.wrong, ElementsAre(0, is_wrong, 0));
      EXPECT_GE(found.judgement.limit[1], 4e-6);
      EXPECT_LT(found.judgement.limit[0], 1e-7);
    }
  }
}

TEST(ElementCheck, ADeviationThatHidesAnErrorLeavesTheElementOpen) {
  const ElementCheck found = checked({.value = claimed_cosines(), .deviation = {0, 1e-3, 0}});
  EXPECT_EQ(found.judgement.verdict(), Verdict::kInconclusive);
  EXPECT_THAT(found.judgement.unsure, ElementsAre(0, 1, 0));
}

TEST(ElementCheck, AllowsForTheRoundingOfTheDtypeThatAClaimWasMadeIn) {
  const std::vector<double> claimed = claimed_cosines(1 + 0x1p-21);
  EXPECT_EQ(checked({claimed}).judgement.verdict(), Verdict::kFail);
  const ElementCheck found = checked({.value = claimed, .made_in = DType::kFloat32});
  EXPECT_THAT(found.judgement.wrong, Each(0));
  EXPECT_THAT(
      checked({.value = claimed_cosines(1.001), .made_in = DType::kFloat32}).judgement.wrong,
      ElementsAre(0, 1, 0));
}

TEST(ElementCheck, RowsThatDependOnEachOtherAreNotJudged) {
  for (const double weak : {0.0, 1e-5}) {
    ToyFunction f({tensor_of(kAngles)}, [weak](const std::vector<Tensor>& inputs) {
      const std::vector<double> x = values_of(inputs[0]);
      std::vector<double> y = x;
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::sin(x[i]) + weak * x[(i + 1) % 3];
      return std::vector<Tensor>{tensor_of(y)};
    });
    Formula formula = formula_of(f);
    const auto found = check_elements(formula, look_at(3, 3), {claimed_cosines()});
    ASSERT_EQ(found.has_value(), weak == 0);
    if (!found) continue;
    EXPECT_EQ(found->judgement.verdict(), Verdict::kPass);
    ASSERT_TRUE(found->along.has_value());
    EXPECT_FALSE(found->along->levels.empty());
  }
}

TEST(ElementCheck, WhatRoundingLeftOfA0IsNoError) {
  ToyFunction f = ToyFunction::elementwise(tensor_of({1, 1, 1}), [](double) { return 3; });
  const double rounding = 0x1p-53 * 9;  // of f over x
  for (const double part : {0.0, 8.0, -15.0}) {
    Formula formula = formula_of(f);
    const ElementCheck found = checked(formula, {{part * rounding, 0, 0}});
    EXPECT_EQ(found.judgement.verdict(), Verdict::kPass) << part;
  }
  Formula formula = formula_of(f);
  EXPECT_THAT(checked(formula, {{1e-3, 0, 0}}).judgement.wrong, ElementsAre(1, 0, 0));
}

// Each element less their mean, cubed: a bias in front of it changes nothing.
ToyFunction normalized(double bias) {
  return ToyFunction({tensor_of({bias})}, [](const std::vector<Tensor>& inputs) {
    std::vector<double> y;
    double sum = 0;
    for (int i = 0; i < 7; ++i) {
      y.push_back(std::sin(2 * i) + inputs[0].get_float_element(0));
      sum += y.back();
    }
    for (double& value : y) value = std::pow(value - sum / 7, 3);
    return std::vector<Tensor>{tensor_of(y)};
  });
}

TEST(ElementCheck, AGradientOf0IsJudgedByFOverX) {
  ToyFunction f = normalized(0.3);
  Formula formula = formula_of(f);
  const ElementCheck found = checked(formula, {{1e-17}});
  EXPECT_EQ(found.judgement.verdict(), Verdict::kPass);
  ASSERT_TRUE(found.heights.has_value());
  EXPECT_EQ(*found.heights, formula.heights(0));
  EXPECT_FALSE(found.trusts_reference());
  const Derivatives trusted = found.trusted();
  EXPECT_THAT(trusted.value, ElementsAre(1e-17));
  EXPECT_THAT(trusted.error, ElementsAre(0));
  EXPECT_EQ(trusted.scale, *found.heights);
  EXPECT_EQ(checked(formula, {{0.01}}).judgement.verdict(), Verdict::kFail);
}

TEST(ElementCheck, ACosineAt0HasTheGradient0WhateverTheSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ToyFunction f =
        ToyFunction::elementwise(tensor_of({0, 0, 0}), [](double t) { return std::cos(t); });
    Formula formula = formula_of(f);
    formula.seed = seed;
    EXPECT_EQ(checked(formula, {{0, 0, 0}}).judgement.verdict(), Verdict::kPass) << seed;
    EXPECT_EQ(checked(formula, {{0, 1e-3, 0}}).judgement.verdict(), Verdict::kFail) << seed;
  }
}

TEST(Exact, DerivativesNeedNoErrorBars) {
  const Derivatives found = exact({1, -2, 3, 4}, {5, 6, 7, 8}, 2);
  EXPECT_EQ(found.cotangents, 2);
  EXPECT_EQ(found.elements, 2);
  for (const auto* values : {&found.value, &found.low, &found.high}) {
    EXPECT_THAT(*values, ElementsAre(1, -2, 3, 4));
  }
  EXPECT_THAT(found.scale, ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(found.error, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(found.flags, ElementsAre(0, 0));
}

}  // namespace
}  // namespace fluidcore::gradcheck
