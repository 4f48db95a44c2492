#include "fluidcore/gradcheck/verdict/zero_gradient.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_formula.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr double kFloat64Unit = 0x1p-53;
const std::vector<double> kMovedPoint = {3, -4, 0, 5};

ToyFunction moved() {
  return ToyFunction::elementwise(tensor_of(kMovedPoint), [](double x) { return x + 1e17; });
}

ToyFunction fixed(double value = 1e17, const Tensor& x = tensor_of(kMovedPoint)) {
  return ToyFunction::elementwise(x, [value](double) { return value; });
}

// Of two cotangents.
std::vector<double> twice(std::vector<double> row) {
  const std::size_t size = row.size();
  for (std::size_t j = 0; j < size; ++j) row.push_back(row[j]);
  return row;
}

// Derivatives of 0 where no step moved f, of 1 where one did; by two cotangents.
Derivatives still(const std::vector<double>& moves, std::uint8_t flags = 0, double error = 0) {
  Derivatives reference(2, std::ssize(moves));
  reference.value = reference.low = reference.high = reference.scale = twice(moves);
  std::fill(reference.flags.begin(), reference.flags.end(), flags);
  std::fill(reference.error.begin(), reference.error.end(), error);
  return reference;
}

// The flags of elements, after what is claimed of them.
std::vector<int> flags_after(ToyFunction f,
                             Derivatives reference,
                             const std::vector<double>& claimed) {
  Formula formula = formula_of(f, {{1, 1, 1, 1}, {1, -1, 2, 1}});
  const std::vector<double> values = reference.value;
  flag_absorbed(formula, look_at(reference.elements), claimed, reference);
  EXPECT_EQ(reference.value, values);
  const auto elements = static_cast<std::size_t>(reference.elements);
  for (std::size_t j = 0; j < elements; ++j) {
    EXPECT_EQ((reference.flags[j] & kAbsorbed) != 0,
              std::isinf(reference.error[j]) || std::isinf(reference.error[elements + j]));
  }
  return {reference.flags.begin(), reference.flags.end()};
}

TEST(Absorption, HidesAGradientThatNoStepShows) {
  for (auto* f : {&moved, +[] { return fixed(); }}) {
    EXPECT_THAT(flags_after(f(), still({0, 0, 1}), twice({1, 0, 1})), ElementsAre(kAbsorbed, 0, 0));
    EXPECT_THAT(flags_after(f(), still({0, 1}, kKink), twice({1, 1})),
                ElementsAre(kAbsorbed | kKink, kKink));
    EXPECT_THAT(flags_after(f(), still({0, 0, 1}), {0, 0, 0, 0, 1, 0}),
                ElementsAre(0, kAbsorbed, 0));
  }
}

TEST(Absorption, HidesAGradientOf0IfLargerStepsMoveF) {
  const std::vector<double> nothing(8);
  const Derivatives reference = still({0, 0, 0, 1});
  EXPECT_THAT(flags_after(moved(), reference, nothing),
              ElementsAre(kAbsorbed, kAbsorbed, kAbsorbed, 0));
  EXPECT_THAT(flags_after(fixed(), reference, nothing), Each(0));
}

TEST(Absorption, IsNotOfWhatMovedOrIsUncertain) {
  const std::vector<double> claimed(8, 1);
  EXPECT_THAT(flags_after(moved(), still({1, 1, 1, 1}), claimed), Each(0));
  EXPECT_THAT(flags_after(moved(), still({0, 0, 0, 0}, 0, 1e-300), claimed), Each(0));
}

TEST(Absorption, HidesMoreOfASmallerElement) {
  for (const double x : {1e-9, 1.0}) {
    const std::vector<int> flags = flags_after(fixed(1e9, tensor_of({1e9, x, 1e9, 1e9})),
                                               still({1, 0, 1, 1}), twice({1, 1, 1, 1}));
    EXPECT_THAT(flags, ElementsAre(0, x < 1 ? kAbsorbed : 0, 0, 0));
  }
}

TEST(Absorption, IsNotOfAClaimThatIsNothingBesideOthers) {
  EXPECT_THAT(flags_after(fixed(), still({0, 1, 1, 1}), twice({1e-9, 1, 1, 1})), Each(0));
}

TEST(Absorption, IsOfAClaimThatMovesFByLessThanTheLongestStepShows) {
  for (const double height : {0x1p48 * 0.999, 0x1p48 * 1.001}) {
    ToyFunction f({tensor_of({1, -1, 1, 1})},
                  [](const auto&) { return std::vector<Tensor>{tensor_of({1})}; });
    Formula formula = formula_of(f, {{height}, {1}});
    Derivatives reference = still({0, 0, 0, 0});
    flag_absorbed(formula, look_at(4), std::vector<double>(8, 1), reference);
    const bool is_absorbed = height > 0x1p48;
    EXPECT_THAT(reference.flags, Each(is_absorbed ? kAbsorbed : 0));
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(std::isinf(reference.error[i]), is_absorbed && i < 4) << i;
    }
  }
}

TEST(Absorption, IsSeenByDifferencesBelowFloat64) {
  EXPECT_THAT(flags_after(fixed(1e17, tensor_of(kMovedPoint, DType::kFloat32)), still({0, 0, 0, 0}),
                          std::vector<double>(8, 1)),
              Each(0));
}

// Derivatives of a constant whose size over x is made up, and what is claimed of them.
struct Settled {
  double height = 1;
  DType dtype = DType::kFloat64;
  double claimed = 0;
  std::vector<double> value = {0, 0, 0, 0};
  double error = 0;
  std::vector<std::uint8_t> flags = {0, 0, 0, 0};
  OnKink on_kink = OnKink::kSubgradient;

  Derivatives reference = {};
  Judgement judgement = {};

  // Whether open elements become 0 as far as f tells.
  bool is_zero(Interruption* interruption = nullptr) {
    ToyFunction f({tensor_of({1, -1, 1, 1}, dtype)}, [dtype = dtype](const auto&) {
      return std::vector<Tensor>{tensor_of({1}, dtype)};
    });
    Formula formula = formula_of(f, {{height}, {height}});
    formula.rules = Rules::of(dtype, true);
    formula.rules.on_kink = on_kink;
    f.set_interruption(interruption);
    reference = Derivatives(2, 4);
    reference.value = reference.low = reference.high = twice(value);
    for (std::size_t i = 0; i < 8; ++i) reference.scale[i] = std::abs(reference.value[i]);
    std::fill(reference.error.begin(), reference.error.end(), error);
    reference.flags = flags;
    judgement =
        judge(reference, std::vector<double>(8, claimed), std::vector<double>(8), formula.rules);
    std::fill(judgement.wrong.begin(), judgement.wrong.end(), 0);
    std::fill(judgement.unsure.begin(), judgement.unsure.end(), 1);
    const bool found = settle_zero(formula, look_at(4), reference, judgement).has_value();
    EXPECT_EQ(judgement.is_proven(), found);
    return found;
  }
};

bool is_zero(Settled settled) {
  return settled.is_zero();
}

std::vector<std::uint8_t> all(unsigned flags) {
  return std::vector<std::uint8_t>(4, static_cast<std::uint8_t>(flags));
}

std::vector<double> equal(double value) {
  return std::vector<double>(4, value);
}

TEST(ZeroGradient, AJudgementWithoutDoubtsStays) {
  ToyFunction f = fixed(1);
  Formula formula = formula_of(f);
  Derivatives reference(1, 4);
  Judgement found =
      judge(reference, std::vector<double>(4), std::vector<double>(4, 1e-9), formula.rules);
  ASSERT_TRUE(found.is_proven());
  const std::vector<double> limit = found.limit;
  EXPECT_FALSE(settle_zero(formula, look_at(4), reference, found));
  EXPECT_EQ(found.limit, limit);
  EXPECT_EQ(formula.evaluations, 0);
}

TEST(ZeroGradient, WithoutTimeAJudgementStays) {
  Interruption interruption;
  interruption.limit(std::chrono::seconds(0));
  Settled settled;
  EXPECT_FALSE(settled.is_zero(&interruption));
  EXPECT_THAT(settled.judgement.unsure, Each(1));
  EXPECT_THAT(settled.judgement.limit, Each(0));
  EXPECT_TRUE(settled.is_zero());
}

TEST(ZeroGradient, IsFlatWhereRoundingHidesNoSlopeOfAHundredth) {
  // Sixteen roundings of float16 times 1.28.
  for (const auto& [height, expected] :
       {std::pair(0.0, false), std::pair(1.27, true), std::pair(1.29, false)}) {
    EXPECT_EQ(is_zero({.height = height, .dtype = DType::kFloat16, .flags = all(kKink)}), expected)
        << height;
  }
}

TEST(ZeroGradient, IsFlatIfItIsNothingBesideFOverX) {
  const double part = 1e-3 * Rules::of(DType::kFloat16, true).resolution;
  for (const double sign : {1, -1}) {
    Settled settled{.dtype = DType::kFloat16, .claimed = sign * 0.99 * part, .flags = all(kKink)};
    EXPECT_TRUE(settled.is_zero());
    settled.claimed = sign * 1.01 * part;
    EXPECT_FALSE(settled.is_zero());
  }
}

TEST(ZeroGradient, IsNotFlatIfASlopeIsSeenThatIsNoRounding) {
  const double rounding = 16 * kFloat64Unit;
  const double error = 1e-12;
  for (const double sign : {1, -1}) {
    const double more = sign * 1.01 * rounding;
    EXPECT_TRUE(is_zero({.value = equal(sign * 0.99 * rounding)}));
    EXPECT_FALSE(is_zero({.value = equal(more)}));
    EXPECT_FALSE(is_zero({.value = {0, 0, 0, more}}));
    EXPECT_TRUE(is_zero({.value = equal(more), .flags = all(kKink)}));
    const std::vector<double> beyond = equal(sign * 1.01 * 3 * error);
    EXPECT_TRUE(is_zero({.value = beyond, .error = error, .flags = all(kKink)}));
    EXPECT_FALSE(is_zero({.value = beyond, .error = error}));
  }
}

TEST(ZeroGradient, IsNotFlatWhereFIsNotDefined) {
  EXPECT_FALSE(is_zero({.flags = all(kDomain)}));
  EXPECT_FALSE(is_zero({.flags = {0, 0, 0, kDomain}}));
  EXPECT_FALSE(is_zero({.flags = all(kDomain | kKink)}));
}

TEST(ZeroGradient, IsNotSettledBesideAnFOf0) {
  EXPECT_TRUE(is_zero({.height = 1e-300}));
  EXPECT_FALSE(is_zero({.height = 0}));
}

constexpr double kHuge = 1e13;  // of which sixteen roundings are visible

TEST(ZeroGradient, MayBeHeldByErrorBarsWhereRoundingIsVisible) {
  EXPECT_TRUE(is_zero({.height = kHuge, .value = equal(2.9), .error = 1}));
  EXPECT_FALSE(is_zero({.height = kHuge, .value = equal(3.1), .error = 1}));
  EXPECT_TRUE(is_zero({.height = kHuge, .value = equal(2.9), .error = 1, .flags = all(kAbsorbed)}));
  EXPECT_FALSE(is_zero({.height = kHuge, .value = equal(2.9), .error = 1, .flags = all(kKink)}));
}

TEST(ZeroGradient, IsHeldByTheErrorBarsOfAllElementsThatCount) {
  Settled settled{.height = kHuge, .value = {0, 0, 0, 9}, .error = 1};
  EXPECT_FALSE(settled.is_zero());
  settled.flags = {0, 0, 0, kKink};
  EXPECT_FALSE(settled.is_zero());
  settled.on_kink = OnKink::kSkip;
  EXPECT_TRUE(settled.is_zero());
  EXPECT_FALSE(
      is_zero({.height = kHuge, .error = 1, .flags = all(kKink), .on_kink = OnKink::kSkip}));
}

TEST(ZeroGradient, MoreThanItsOwnRoundingIsAbsorbedByAFlatF) {
  const double rounding = 1024 * kFloat64Unit * kHuge;
  EXPECT_TRUE(is_zero({.height = kHuge, .claimed = 0.99 * rounding, .error = 1}));
  Settled settled{.height = kHuge, .claimed = 1.01 * rounding, .error = 1};
  EXPECT_FALSE(settled.is_zero());
  EXPECT_THAT(settled.reference.flags, Each(kAbsorbed));
  EXPECT_THAT(settled.judgement.wrong, Each(0));
}

// Whether 0 is settled where f is f(x), element by element, and error bars hold 0.
bool is_held(double (*f)(double), double error, Derivatives& reference) {
  ToyFunction function = ToyFunction::elementwise(tensor_of({1, -1, 1, 1}), f);
  Formula formula = formula_of(function);
  reference = Derivatives(1, 4);
  std::fill(reference.error.begin(), reference.error.end(), error);
  Judgement judgement =
      judge(reference, std::vector<double>(4), std::vector<double>(4), formula.rules);
  return settle_zero(formula, look_at(4), reference, judgement).has_value();
}

TEST(ZeroGradient, ThatErrorBarsHoldMustNotHideASlopeFarAway) {
  Derivatives reference;
  // Narrow error bars hide no slope, whatever large steps see.
  EXPECT_TRUE(is_held([](double x) { return 2 + x; }, 1e-12, reference));
  EXPECT_THAT(reference.flags, Each(0));
  EXPECT_FALSE(is_held([](double x) { return 1e17 + x; }, 2, reference));
  EXPECT_THAT(reference.flags, Each(kAbsorbed));
}

TEST(ZeroGradient, ThatErrorBarsHoldTooVaguelyIsSettledByWhatLargeStepsSee) {
  Derivatives reference;
  EXPECT_TRUE(is_held([](double x) { return (x + 3) - x; }, 1e-7, reference));
  EXPECT_FALSE(is_held([](double x) { return x + 3; }, 1e-7, reference));
}

TEST(ZeroGradient, OfAnFOf0IsJudgedByTheSlopeFarAway) {
  Derivatives reference;
  EXPECT_TRUE(is_held([](double x) { return x * x - 1; }, 1e-12, reference));
  EXPECT_FALSE(is_held([](double x) { return x * x - 1; }, 1e-6, reference));
  EXPECT_FALSE(is_held([](double /*x*/) { return 0.0; }, 1e-12, reference));
}

}  // namespace
}  // namespace fluidcore::gradcheck
