#include "fluidcore/gradcheck/verdict/along_branches.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_formula.h"
#include "gradcheck/toy_gradient.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;

// |x| + 2 |x + y| - |2 y - x| / 2 at 0, where six branches meet.
std::vector<Tensor> six_branches(const std::vector<Tensor>& inputs) {
  const std::vector<double> at = values_of(inputs[0]);
  return {
      tensor_of({std::abs(at[0]) + 2 * std::abs(at[0] + at[1]) - std::abs(2 * at[1] - at[0]) / 2})};
}
// That of one of them at 0, and `off`.
ToyGradient gradient_of_six(const Tensor& x, double off) {
  return ToyGradient({x}, [off](const auto& inputs, const auto& v) {
    const auto sign = [](double t) { return t > 0 ? 1.0 : -1.0; };
    const std::vector<double> at = values_of(inputs[0]);
    const double first = sign(at[0]);
    const double second = sign(at[0] + at[1]);
    const double third = sign(2 * at[1] - at[0]);
    std::vector<double> a = {first + 2 * second + third / 2 + off, 2 * second - third};
    for (double& value : a) value *= v[0].get_float_element(0);
    return std::vector<Tensor>{tensor_of(a)};
  });
}

struct ProofOfSix {
  bool is_proven = false;
  Derivatives reference{1, 2};
};

// `low`: of what differences know of both elements; the claim is refuted where that is above it.
ProofOfSix prove_six(double off, std::uint8_t flags, double low) {
  const Tensor x = tensor_of({0, 0});
  ToyFunction f({x}, six_branches);
  ToyGradient gradient = gradient_of_six(x, off);
  Formula formula = formula_of(f);
  formula.gradient = &gradient;
  ProofOfSix proof;
  Derivatives& reference = proof.reference;
  std::fill(reference.flags.begin(), reference.flags.end(), flags);
  const std::vector<double> a = values_of(gradient.at({x}, {tensor_of({1})})[0]);
  for (std::size_t i = 0; i < a.size(); ++i) {
    reference.value[i] = reference.low[i] = reference.high[i] = a[i] + low;
    reference.scale[i] = 1;
  }
  const Judgement found = judge(reference, a, {0, 0}, formula.rules);
  proof.is_proven = prove_along_branches(formula, look_at(2), found, reference);
  return proof;
}

TEST(AlongBranches, TheGradientOfABranchIsProven) {
  const ProofOfSix proof = prove_six(0, kKink, 0.5);
  EXPECT_TRUE(proof.is_proven);
  EXPECT_THAT(proof.reference.value, ElementsAre(-3.5, -1));
  EXPECT_THAT(proof.reference.scale, ElementsAre(3.5, 1));
  EXPECT_THAT(proof.reference.flags, ElementsAre(kKink | kSubgradient, kKink | kSubgradient));
  EXPECT_LT(proof.reference.error[0], 1e-6);
}

TEST(AlongBranches, AnotherOneIsNot) {
  EXPECT_FALSE(prove_six(0.01, kKink, 0.5).is_proven);
}

TEST(AlongBranches, WhereThereIsNoKinkNobodyLooks) {
  EXPECT_FALSE(prove_six(0, 0, 0.5).is_proven);
}

TEST(AlongBranches, WhatDifferencesRefuteByLessThanDirectionsSeeStaysRefuted) {
  EXPECT_FALSE(prove_six(0, kKink, 1e-10).is_proven);
}

}  // namespace
}  // namespace fluidcore::gradcheck
