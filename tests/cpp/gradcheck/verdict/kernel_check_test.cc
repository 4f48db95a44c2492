#include "fluidcore/gradcheck/verdict/kernel_check.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_formula.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_gradient.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;

// sin, with a kernel in float32 whose gradient has a fault at some places.
class Sine {
 public:
  using Fault = std::function<double(std::size_t i, double gradient)>;

  explicit Sine(
      std::vector<double> x,
      const Fault& fault = [](std::size_t /*i*/, double a) { return a; },
      std::vector<std::vector<double>> cotangents = {})
      : f_(ToyFunction::elementwise(tensor_of(x), [](double t) { return std::sin(t); })),
        formula_(ToyGradient::elementwise(tensor_of(x), cosine)),
        kernel_({tensor_of(x, DType::kFloat32)}, body(fault)) {
    if (cotangents.empty()) cotangents = {std::vector<double>(x.size(), 1)};
    std::vector<std::vector<Tensor>> v;
    for (const auto& row : cotangents) v.push_back({tensor_of(row, DType::kFloat32)});
    claim.elements.resize(x.size());
    std::iota(claim.elements.begin(), claim.elements.end(), std::int64_t{0});
    for (const auto& row : v) {
      for (const double a : values_of(formula_.at(formula_.inputs(), row)[0])) {
        claim.formula.push_back(a);
      }
      for (const double a : values_of(kernel_.at(kernel_.inputs(), row)[0])) {
        claim.kernel.push_back(a);
      }
    }
    test.emplace(GradientPair{kernel_, formula_, f_, std::move(v), 0});
    judged.emplace(formula_of(f_, cotangents));
  }

  KernelCheck check_by_elements() {
    const auto found =
        check_elements(*judged, look_at(std::ssize(claim.elements)), {claim.formula});
    return check_kernel(*test, claim, &*found, rules);
  }
  KernelCheck check_along_directions() { return check_kernel(*test, claim, nullptr, rules); }
  std::optional<ProvenKernel> prove() {
    return prove_kernel(*test, {claim.input, claim.formula, claim.kernel}, rules);
  }

  const Rules rules = Rules::of(DType::kFloat32, false);
  KernelClaim claim;
  std::optional<KernelTest> test;
  std::optional<Formula> judged;

 private:
  static ToyGradient::Body body(const Fault& fault) {
    return [fault](const std::vector<Tensor>& x, const std::vector<Tensor>& v) {
      std::vector<double> gradient = values_of(v[0]);
      const std::vector<double> at = values_of(x[0]);
      for (std::size_t i = 0; i < at.size(); ++i)
        gradient[i] = fault(i, gradient[i] * cosine(at[i]));
      return std::vector<Tensor>{tensor_of(gradient, DType::kFloat32)};
    };
  }

  ToyFunction f_;
  ToyGradient formula_;
  ToyGradient kernel_;
};

// Numbers that float32 holds.
std::vector<double> points(std::size_t count) {
  std::vector<double> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(0.25 + static_cast<double>(i % 64) / 128);
  return x;
}

Sine::Fault wrong_at(std::size_t index, double factor) {
  return [index, factor](std::size_t i, double a) { return i == index ? factor * a : a; };
}

TEST(KernelCheck, ARightKernelPassesBesideDifferencesAndBesideTheFormulaAlone) {
  for (const bool by_elements : {true, false}) {
    Sine sine(points(6));
    const KernelCheck found =
        by_elements ? sine.check_by_elements() : sine.check_along_directions();
    EXPECT_EQ(found.judgement.verdict(), Verdict::kPass);
    EXPECT_EQ(found.exact.has_value(), !by_elements);
    EXPECT_FALSE(found.narrowed_to.has_value());
    EXPECT_GT(found.detectable(), 0);
    EXPECT_LT(found.detectable(), 1e-3);
  }
}

TEST(KernelCheck, AWrongElementFails) {
  for (const bool by_elements : {true, false}) {
    Sine sine(points(6), wrong_at(4, 1.01));
    const KernelCheck found =
        by_elements ? sine.check_by_elements() : sine.check_along_directions();
    EXPECT_EQ(found.judgement.verdict(), Verdict::kFail);
    EXPECT_EQ(found.judgement.worst(), 4U);
  }
}

TEST(KernelCheck, ComparesWithTheFormulaWhereDifferencesRefuteIt) {
  Sine sine(points(4));
  for (double& a : sine.claim.formula) a *= 2;
  const KernelCheck found = sine.check_by_elements();
  ASSERT_TRUE(found.exact.has_value());
  EXPECT_EQ(found.exact->value, sine.claim.formula);
  EXPECT_THAT(found.exact->error, Each(0));
}

TEST(KernelCheck, TermsAreAsLargeAsGradientsForCotangentsWithRandomSigns) {
  Sine sine(points(5), wrong_at(2, 1.5));
  const KernelCheck found = sine.check_along_directions();
  double squares = 0;
  for (const double a : sine.claim.formula) squares += a * a / 5;
  for (std::size_t i = 0; i < 5; ++i) {  // of one term each: signs change nothing
    const double size = std::max(std::abs(sine.claim.formula[i]), std::sqrt(squares));
    EXPECT_NEAR(found.exact->scale[i], 2 * size, 1e-12);
  }
}

TEST(KernelCheck, AGradientThatWentThroughANarrowerDtypeIsNoticed) {
  Sine sine(points(40), [](std::size_t /*i*/, double a) {
    return static_cast<double>(static_cast<Float16>(static_cast<float>(a)));
  });
  EXPECT_EQ(sine.check_along_directions().narrowed_to, DType::kFloat16);
  EXPECT_FALSE(sine.prove().has_value());
}

TEST(KernelCheck, ManyElementsAreProvenBlockByBlock) {
  constexpr std::size_t kCount = (std::size_t{1} << 16) + 1000;
  Sine right(points(kCount));
  const auto proven = right.prove();
  ASSERT_TRUE(proven.has_value());
  EXPECT_GT(proven->resolution, 0);
  EXPECT_LT(proven->resolution, 1e-5);
  EXPECT_GE(proven->detectable, proven->resolution);
  for (const std::size_t index : {std::size_t{3}, kCount - 1}) {
    EXPECT_FALSE(Sine(points(kCount), wrong_at(index, 1.001)).prove().has_value()) << index;
  }
}

TEST(KernelCheck, OneCotangentAloneIsProvenThatWay) {
  Sine sine(points(4), [](std::size_t /*i*/, double a) { return a; },
            {{1, 1, 1, 1}, {2, 1, -1, 1}});
  EXPECT_FALSE(sine.prove().has_value());
  EXPECT_EQ(sine.check_along_directions().judgement.verdict(), Verdict::kPass);
}

}  // namespace
}  // namespace fluidcore::gradcheck
