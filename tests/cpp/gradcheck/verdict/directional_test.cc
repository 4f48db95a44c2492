#include "fluidcore/gradcheck/verdict/directional.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/difference/direction.h"
#include "gradcheck/toy_function.h"
#include "gradcheck/toy_gradient.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr std::size_t kDirectionalSize = 3000;

// A claim of v f'(x), along four directions.
DirectionalClaim claim_of(const std::vector<double>& x, double (*derivative)(double)) {
  DirectionalClaim claim;
  for (std::uint64_t q = 0; q < 4; ++q) {
    claim.probes.push_back({round_direction(normal(10 + q, x.size())), normal(20 + q, x.size())});
    std::vector<double>& gradient = claim.gradients.emplace_back(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      gradient[i] = claim.probes[q].cotangent[i] * derivative(x[i]);
    }
  }
  return claim;
}

TEST(Directional, ARightGradientPassesAndSaysWhatOneElementMustBeOffBy) {
  const std::vector<double> x = normal(1, kDirectionalSize);
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), sine);
  const Directional found = check_directions(f, claim_of(x, cosine), Rules{});
  EXPECT_EQ(found.judgement.verdict(), Verdict::kPass);
  EXPECT_THAT(found.judgement.wrong, SizeIs(4));
  EXPECT_THAT(found.culprits, IsEmpty());
  EXPECT_GT(found.min_detectable_99, 0);
  EXPECT_LT(found.min_detectable_99, 1e-5);
}

TEST(Directional, TheElementsThatAreWrongAreFound) {
  const std::vector<double> x = normal(1, kDirectionalSize);
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), sine);
  DirectionalClaim claim = claim_of(x, cosine);
  for (std::vector<double>& gradient : claim.gradients) {
    gradient[7] *= 1.5;
    gradient[2999] += 1;
  }
  const Directional found = check_directions(f, claim, Rules{});
  EXPECT_EQ(found.judgement.verdict(), Verdict::kFail);
  ASSERT_THAT(found.culprits, SizeIs(2));
  EXPECT_EQ(found.culprits[0].element, 7);
  EXPECT_EQ(found.culprits[1].element, 2999);
  const double claimed = found.culprits[1].judgement.analytical[0];
  EXPECT_NEAR(found.culprits[1].reference.value[0], claimed - 1, 1e-8);
}

TEST(Directional, AnErrorEverywhereIsNotSearchedForever) {
  const std::vector<double> x = normal(1, kDirectionalSize);
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), sine);
  const Directional found = check_directions(f, claim_of(x, sine), Rules{});
  EXPECT_EQ(found.judgement.verdict(), Verdict::kFail);
  EXPECT_GE(found.culprits.size(), 10u);
  EXPECT_LT(found.culprits.size(), 18u);
}

// Every slope between those of both sides is right, but hardly any sum of them lies between those
// along a direction.
TEST(Directional, KinksAlongADirectionAreNoError) {
  const std::vector<double> x(kDirectionalSize, 0.0);
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), [](double t) { return std::abs(t); });
  const Directional found = check_directions(f, claim_of(x, [](double) { return 0.9; }), Rules{});
  EXPECT_EQ(found.judgement.verdict(), Verdict::kInconclusive);
  EXPECT_THAT(found.culprits, IsEmpty());
}

// Of relu, at kinks by every second element; one is 9.
Directional check_relu(double (*derivative)(double)) {
  std::vector<double> x = normal(1, kDirectionalSize);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = 0;
  x[1] = 9;
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), [](double t) { return t > 0 ? t : 0; });
  ToyGradient gradient = ToyGradient::elementwise(tensor_of(x), derivative);
  DirectionalClaim claim = claim_of(x, derivative);
  claim.gradient = &gradient;
  return check_directions(f, claim, Rules{});
}

TEST(Directional, TheGradientOfABranchIsProvenAlongDirectionsThatReachIt) {
  const Directional below = check_relu([](double t) { return t > 0 ? 1.0 : 0.0; });
  EXPECT_EQ(below.judgement.verdict(), Verdict::kPass);
  EXPECT_LT(below.min_detectable_99, 1e-5);
  const Directional above = check_relu([](double t) { return t >= 0 ? 1.0 : 0.0; });
  EXPECT_EQ(above.judgement.verdict(), Verdict::kPass);
}

TEST(Directional, KinksHideNoErrorOfOtherElements) {
  for (const auto& derivative : {+[](double t) { return t > 8   ? 1.5
                                                        : t > 0 ? 1.0
                                                                : 0.0; },
                                 +[](double t) {
                                   return t > 8 ? 1.5 : t > 0 ? 1.0 : t == 0 ? 0.25 : 0.0;
                                 }}) {
    const Directional found = check_relu(derivative);
    EXPECT_EQ(found.judgement.verdict(), Verdict::kFail);
    ASSERT_THAT(found.culprits, SizeIs(1));
    EXPECT_EQ(found.culprits[0].element, 1);
  }
}

TEST(Directional, WhatIsTheGradientOfNoBranchIsOpen) {
  const Directional found = check_relu([](double t) { return t > 0 ? 1.0 : t == 0 ? 0.25 : 0.0; });
  EXPECT_EQ(found.judgement.verdict(), Verdict::kInconclusive);
}

TEST(Directional, EndsWithWhatTheUserInterrupts) {
  const std::vector<double> x = normal(1, kDirectionalSize);
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), sine);
  DirectionalClaim claim = claim_of(x, sine);
  Interruption interruption;
  ToyGradient gradient({tensor_of(x)}, [&](const auto&, const auto& v) {
    interruption.request();
    interruption.check("gradient");
    return v;
  });
  f.set_interruption(&interruption);
  gradient.set_interruption(&interruption);
  claim.gradient = &gradient;
  EXPECT_THROW(check_directions(f, claim, Rules{}), Interrupted);
}

// A sum of 1,000 sines and an offset, which ends the time with run number `last`.
struct TimedSines {
  TimedSines(double offset, std::int64_t last)
      : f({tensor_of(normal(1, 1000))}, [this, offset, last](const std::vector<Tensor>& inputs) {
          if (++runs == last) interruption.limit(std::chrono::seconds(0));
          double sum = offset;
          for (const double x : values_of(inputs[0])) sum += std::sin(x);
          return std::vector<Tensor>{tensor_of({sum})};
        }) {
    interruption.limit(std::chrono::hours(1));
    f.set_interruption(&interruption);
  }

  // `factor`: of the right gradient.
  Directional checked(double factor) {
    const std::vector<double> x = normal(1, 1000);
    DirectionalClaim claim;
    claim.probes.push_back({round_direction(normal(10, x.size())), {1}});
    std::vector<double>& gradient = claim.gradients.emplace_back();
    for (const double at : x) gradient.push_back(factor * std::cos(at));
    return check_directions(f, claim, Rules{});
  }

  std::int64_t runs = 0;
  Interruption interruption;
  ToyFunction f;
};

TEST(Directional, WhatOneMeasurementLeavesIsOpenOnceTheTimeIsOver) {
  for (const double offset : {0.0, 1e12}) {  // which hides all digits
    std::int64_t last = 1;
    for (;; ++last) {  // the first run after which there is a measurement
      try {
        TimedSines sines(offset, last);
        const Directional found = sines.checked(1.01);
        EXPECT_EQ(found.judgement.verdict(), Verdict::kInconclusive);
        EXPECT_THAT(found.judgement.wrong, Each(0));
        EXPECT_THAT(found.judgement.doubts(found.reference.flags), ElementsAre("budget"));
        EXPECT_THAT(found.culprits, IsEmpty());
        break;
      } catch (const TimedOut&) {
        ASSERT_LT(last, 1000);
      }
    }
  }
}

TEST(Directional, WithoutAGradientNoErrorIsRelativeToIt) {
  const std::vector<double> x = normal(1, kDirectionalSize);
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), [](double) { return 1.0; });
  const Directional found = check_directions(f, claim_of(x, [](double) { return 0.0; }), Rules{});
  EXPECT_EQ(found.min_detectable_99, std::numeric_limits<double>::infinity());
}

TEST(Directional, MoreDirectionsAreLessBlind) {
  const double expected[] = {0.0125, 0.126, 0.273, 0.407};
  for (std::size_t probes = 1; probes <= 4; ++probes) {
    EXPECT_NEAR(blind_spot(probes), expected[probes - 1], 5e-4);
  }
}

TEST(Directional, SizesMustFit) {
  const std::vector<double> x = normal(1, 3);
  ToyFunction f = ToyFunction::elementwise(tensor_of(x), sine);
  DirectionalClaim claim = claim_of(x, cosine);
  claim.gradients[2].pop_back();
  EXPECT_THAT([&] { check_directions(f, claim, Rules{}); },
              ThrowsMessage<InvalidArgument>("gradcheck: gradient 2 must have the 3 elements of "
                                             "its direction, got 2"));
  claim.gradients.pop_back();
  EXPECT_THAT([&] { check_directions(f, claim, Rules{}); },
              ThrowsMessage<InvalidArgument>("gradcheck: there must be a gradient for each of the "
                                             "directions, at least one, got 3 for 4"));
}

}  // namespace
}  // namespace fluidcore::gradcheck
