#include "fluidcore/gradcheck/verdict/joint_direction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

// y = sin(x0) + sin(x1) + sin(x2), of different sizes: sums of them.
constexpr std::size_t kSizes[] = {300, 7, 50};

ToyFunction sines() {
  std::vector<Tensor> inputs;
  for (const std::size_t size : kSizes) inputs.push_back(tensor_of(normal(size, size)));
  return ToyFunction(inputs, [](const std::vector<Tensor>& xs) {
    double sum = 0;
    for (const Tensor& x : xs) {
      for (const double value : values_of(x)) sum += std::sin(value);
    }
    return std::vector<Tensor>{tensor_of({sum})};
  });
}

JointClaim claim_of(const Function& f) {
  JointClaim claim;
  for (std::size_t k = 0; k < f.inputs().size(); ++k) {
    std::vector<double> gradient = values_of(f.inputs()[k]);
    for (double& value : gradient) value = 2 * std::cos(value);
    claim.inputs.push_back(k);
    claim.gradients.push_back(tensor_of(gradient));
  }
  claim.cotangent = {2};
  return claim;
}

void spoil(JointClaim& claim, std::size_t k, std::int64_t element, double error) {
  Tensor& gradient = claim.gradients[k];
  gradient.set_float_element(element, gradient.get_float_element(element) + error);
}

std::vector<std::size_t> proven(Function& f, const JointClaim& claim, const Rules& rules = {}) {
  std::vector<std::size_t> inputs;
  for (const auto& [k, proof] : prove_jointly(f, claim, rules).of) inputs.push_back(k);
  return inputs;
}

TEST(JointDirection, ThreeRunsProveAllInputs) {
  ToyFunction f = sines();
  const Proofs found = prove_jointly(f, claim_of(f), Rules{});
  EXPECT_EQ(found.of.size(), 3);
  EXPECT_EQ(found.evaluations, 3);
  for (const auto& [k, proof] : found.of) {
    EXPECT_NEAR(proof.analytical, proof.numerical, 1e-6 * std::abs(proof.analytical));
    EXPECT_LT(proof.resolution, 1e-5);
    EXPECT_LT(proof.min_detectable_99, 1e-4);
  }
}

TEST(JointDirection, TheInputsBesideAWrongOneAreProven) {
  ToyFunction f = sines();
  for (std::size_t k = 0; k < 3; ++k) {
    JointClaim claim = claim_of(f);
    spoil(claim, k, 3, 1e-3);
    std::vector<std::size_t> others = {0, 1, 2};
    std::erase(others, k);
    EXPECT_EQ(proven(f, claim), others);
  }
}

TEST(JointDirection, OppositeErrorsDoNotCancel) {
  ToyFunction f = sines();
  JointClaim claim = claim_of(f);
  spoil(claim, 0, 3, 1e-3);
  spoil(claim, 0, 4, -1e-3);
  EXPECT_EQ(proven(f, claim), (std::vector<std::size_t>{1, 2}));
}

TEST(JointDirection, OfAnInputByElementNoErrorEscapesThatALookAtEachSees) {
  ToyFunction f = sines();
  const Rules rules{.resolution = 3e-6};
  JointClaim claim = claim_of(f);
  double greatest = 0;
  for (const double a : values_of(claim.gradients[2])) greatest = std::max(greatest, std::abs(a));
  const double error = 1.01 * rules.resolution * kSmallElement * greatest;
  for (const std::int64_t element : {0, 20, 49}) {
    JointClaim wrong = claim_of(f);
    spoil(wrong, 2, element, error);
    EXPECT_THAT(proven(f, wrong, rules), ElementsAre(0, 1, 2));
    wrong.by_element = {2};
    EXPECT_THAT(proven(f, wrong, rules), ElementsAre(0, 1));
  }
  claim.by_element = {1, 2};
  const Proofs right = prove_jointly(f, claim, rules);
  EXPECT_THAT(right.of, SizeIs(3));
  EXPECT_LE(right.evaluations, 20);
}

TEST(JointDirection, AGradientOfZeroIsNotProvenByOthers) {
  ToyFunction f = sines();
  JointClaim claim = claim_of(f);
  claim.gradients[1] = tensor_of(std::vector<double>(kSizes[1]));
  EXPECT_EQ(proven(f, claim), (std::vector<std::size_t>{0, 2}));
}

TEST(JointDirection, StepsAreListedWhereTheyAreWanted) {
  ToyFunction f = sines();
  EXPECT_THAT(prove_jointly(f, claim_of(f), Rules{}).of.at(0).levels, IsEmpty());
  const Proofs found = prove_jointly(f, claim_of(f), Rules{}, {.levels = true});
  EXPECT_GE(found.of.at(0).levels.size(), 3);
}

TEST(JointDirection, AClaimMustFitTheFunction) {
  ToyFunction f = sines();
  JointClaim claim = claim_of(f);
  claim.gradients[1] = tensor_of({1, 2});
  EXPECT_THAT([&] { prove_jointly(f, claim, Rules{}); },
              ThrowsMessage<InvalidArgument>(
                  "gradcheck: the gradient by input 1 must be float64 with 7 elements, got float64 "
                  "with 2"));
}

}  // namespace
}  // namespace fluidcore::gradcheck
