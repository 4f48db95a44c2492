#include "fluidcore/gradcheck/verdict/judge.h"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_derivatives.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Lt;

Judgement judged(const Derivatives& reference, std::vector<double> analytical) {
  return judge(reference, std::move(analytical), formula_tolerance(reference), Rules());
}

TEST(JudgeTest, WhatTheErrorBarAllowsIsRight) {
  const Judgement found = judged(known_derivatives({1, -2}, 1e-8), {1 + 2e-8, -2 - 2e-8});
  EXPECT_EQ(found.verdict(), Verdict::kPass);
  EXPECT_THAT(found.resolution, Each(Lt(1e-7)));
}

TEST(JudgeTest, WhatItDoesNotAllowIsWrong) {
  const Judgement found = judged(known_derivatives({1, -2}, 1e-8), {1 + 2e-8, -2 - 5e-8});
  EXPECT_EQ(found.verdict(), Verdict::kFail);
  EXPECT_THAT(found.wrong, ElementsAre(0, 1));
  EXPECT_EQ(found.worst(), 1u);
}

TEST(JudgeTest, AWideErrorBarProvesNothing) {
  const Judgement found = judged(known_derivatives({1, 1, 1}, 0.1), {1, 1, 1});
  EXPECT_EQ(found.verdict(), Verdict::kInconclusive);
  EXPECT_THAT(found.doubts(known_derivatives({1, 1, 1}, 0.1).flags), ElementsAre("noise"));
}

TEST(JudgeTest, ButItCanRefute) {
  EXPECT_EQ(judged(known_derivatives({1, 1, 1}, 0.1), {1, 1, 2}).verdict(), Verdict::kFail);
}

TEST(JudgeTest, OneElementThatIsNotProvenIsEnoughForNoPass) {
  Derivatives reference = known_derivatives({1, 2, 3, 4});
  reference.flags = {kDomain, 0, 0, 0};
  const Judgement found = judged(reference, {1, 2, 3, 4});
  EXPECT_EQ(found.verdict(), Verdict::kInconclusive);
  EXPECT_THAT(found.doubts(reference.flags), ElementsAre("domain"));
}

TEST(JudgeTest, TheMostFrequentDoubtComesFirst) {
  Derivatives reference = known_derivatives({1, 2, 3, 4}, 1);
  reference.flags = {kKink, kJump, kLate, kJump};
  const Judgement found = judged(reference, {1, 2, 3, 4});
  EXPECT_THAT(found.doubts(reference.flags), ElementsAre("jump", "budget", "kink"));
}

TEST(JudgeTest, WhatOneMeasurementRefutesStaysOpenWhateverMay) {
  Derivatives reference = known_derivatives({1, 1e6});
  reference.flags = {kDomain | kSuspect, 0};
  const Rules rules{.allow_open = 0.5};
  const Judgement found = judge(reference, {1, 1e6}, formula_tolerance(reference), rules);
  EXPECT_EQ(found.verdict(), Verdict::kInconclusive);
  EXPECT_THAT(found.open(), ElementsAre(1, 0));
}

TEST(JudgeTest, WhatMayStayOpenIsAPartOfTheGradientNotOfItsElements) {
  const auto verdict = [](double allowed, std::uint8_t large, std::uint8_t small) {
    Derivatives reference = known_derivatives({1, 1, 1, 97});
    reference.flags = {small, small, small, large};
    const Rules rules{.allow_open = allowed};
    return judge(reference, {1, 1, 1, 97}, formula_tolerance(reference), rules).verdict();
  };
  EXPECT_EQ(verdict(0.04, 0, kDomain), Verdict::kPass);
  EXPECT_EQ(verdict(0.02, 0, kDomain), Verdict::kInconclusive);
  EXPECT_EQ(verdict(0.9, kDomain, 0), Verdict::kInconclusive);
}

TEST(JudgeTest, WhatHasNoDerivativeMakesNoOtherElementEasier) {
  Derivatives reference = known_derivatives({1, 1});
  reference.scale[0] = reference.high[0] = 1e12;
  reference.error[1] = 1e-3;
  reference.flags[0] = kJump;
  EXPECT_THAT(judged(reference, {1, 1}).unsure, ElementsAre(1, 1));
  EXPECT_LT(formula_tolerance(reference)[1], 1e-8);
}

TEST(JudgeTest, KinksAreWrongOrNotCountedWhereTheUserSaysSo) {
  Derivatives reference = known_derivatives({0.5, 1});
  reference.low[0] = 0;
  reference.high[0] = 1;
  reference.flags[0] = kKink | kSubgradient;
  const auto verdict = [&](OnKink on_kink, double claimed) {
    const Rules rules{.on_kink = on_kink};
    return judge(reference, {0.3, claimed}, formula_tolerance(reference), rules).verdict();
  };
  EXPECT_EQ(verdict(OnKink::kSubgradient, 1), Verdict::kPass);
  EXPECT_EQ(verdict(OnKink::kFail, 1), Verdict::kFail);
  EXPECT_EQ(verdict(OnKink::kSkip, 1), Verdict::kPass);
  EXPECT_EQ(verdict(OnKink::kSkip, 2), Verdict::kFail);
}

TEST(JudgeTest, AtAKinkWhatLiesBetweenTheSlopesIsNotWrong) {
  Derivatives reference = known_derivatives({0.5, 1, 1});
  reference.low[0] = 0;
  reference.high[0] = 1;
  reference.flags[0] = kKink;
  EXPECT_THAT(judged(reference, {0.3, 1, 1}).wrong, ElementsAre(0, 0, 0));
  EXPECT_THAT(judged(reference, {0.3, 1, 1}).unsure, ElementsAre(1, 0, 0));
  const Judgement outside = judged(reference, {1.5, 1, 1});
  EXPECT_THAT(outside.wrong, ElementsAre(1, 0, 0));
  EXPECT_EQ(outside.nearest[0], 1);
}

TEST(JudgeTest, AnOverflowIsNotJudgedAndHidesNoOtherError) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Derivatives reference = known_derivatives({1e5, 2, 3, 4});
  const Judgement found = judged(reference, {infinity, 2, 3, 4});
  EXPECT_THAT(found.wrong, Each(0));
  EXPECT_THAT(found.unsure, ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(found.verdict(), Verdict::kInconclusive);
  EXPECT_THAT(found.doubts(reference.flags), ElementsAre("domain"));
  EXPECT_EQ(judged(reference, {infinity, 2, 3, 5}).verdict(), Verdict::kFail);
}

TEST(JudgeTest, SmallElementsAreComparedWithAPartOfTheLargest) {
  EXPECT_EQ(judged(known_derivatives({1e-9, 1000}), {2e-9, 1000}).verdict(), Verdict::kPass);
  EXPECT_EQ(judged(known_derivatives({1e-9, 1e-9}), {2e-9, 1e-9}).verdict(), Verdict::kFail);
}

TEST(JudgeTest, AnExactZeroNeedsNoTolerance) {
  const Derivatives reference = known_derivatives({0, 0});
  const std::vector<double> rounding(2, smallest_normal(DType::kFloat32));
  EXPECT_EQ(judge(reference, {0, 0}, rounding, Rules()).verdict(), Verdict::kPass);
  EXPECT_EQ(judge(reference, {0, 1e-30}, rounding, Rules()).verdict(), Verdict::kFail);
}

TEST(JudgeTest, TheWorstOfAnElementIsAWrongOneOrElseTheFarthest) {
  Judgement found;
  found.counted = {1, 1, 1};
  found.analytical = {1.5, 0, 8, 8, 0.5, 1.5};
  found.nearest = std::vector<double>(6);
  found.limit = std::vector<double>(6, 1);
  found.wrong = {1, 0, 0, 0, 0, 1};
  EXPECT_THAT(found.worst_of_each(), testing::ElementsAre(0, 4, 5));
  EXPECT_EQ(found.worst(), 0U);
}

TEST(JudgeTest, NanIsNeitherRightNorWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Judgement found = judged(known_derivatives({1, 2, 3}), {nan, nan, 3});
  EXPECT_THAT(found.wrong, ElementsAre(0, 0, 0));
  EXPECT_EQ(found.verdict(), Verdict::kInconclusive);
}

TEST(JudgeTest, EveryCotangentHasItsOwnScale) {
  Derivatives reference(2, 1);
  reference.value = reference.low = reference.high = reference.scale = {1e-6, 1e6};
  const Judgement found = judged(reference, {2e-6, 1e6});
  EXPECT_THAT(found.wrong, ElementsAre(1, 0));
}

TEST(JudgeTest, DtypesWithFewerDigitsSeeLess) {
  EXPECT_LT(Rules::of(DType::kFloat64, false).resolution,
            Rules::of(DType::kFloat32, false).resolution);
  EXPECT_LT(Rules::of(DType::kFloat32, false).resolution,
            Rules::of(DType::kFloat32, true).resolution);
  EXPECT_EQ(smallest_normal(DType::kFloat32), 0x1p-126);
  EXPECT_EQ(smallest_normal(DType::kFloat16), 0x1p-14);
  EXPECT_EQ(to_string(Verdict::kInconclusive), "INCONCLUSIVE");
}

TEST(Judge, ARelativeErrorThatIsAllowedIsRightAndNoneThatIsLarger) {
  const Derivatives reference = known_derivatives({4, -2}, 1e-9);
  const Rules rules = Rules().with_tolerance(1e-3);
  EXPECT_EQ(rules.resolution, 2e-3);
  EXPECT_EQ(Rules().with_tolerance(1e-9).resolution, Rules().resolution);
  EXPECT_EQ(judge(reference, {4 + 3.9e-3, -2 - 1.9e-3}, {0, 0}, rules).verdict(), Verdict::kPass);
  const Judgement found = judge(reference, {4 + 3.9e-3, -2 - 2.1e-3}, {0, 0}, rules);
  EXPECT_EQ(found.verdict(), Verdict::kFail);
  EXPECT_EQ(found.wrong, (std::vector<std::uint8_t>{0, 1}));
}

}  // namespace
}  // namespace fluidcore::gradcheck
