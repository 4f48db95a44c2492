#include "fluidcore/gradcheck/verdict/branch_direction.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "gradcheck/toy_gradient.h"
#include "gradcheck/toy_numbers.h"

namespace fluidcore::gradcheck {
namespace {

constexpr std::size_t kBranchSize = 1000;

// Every second element is 0.
std::vector<double> point_at_kinks() {
  std::vector<double> x = normal(1, kBranchSize);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = 0;
  return x;
}

std::vector<double> any_direction() {
  return round_direction(normal(3, kBranchSize));
}

// For gradients of a function of each element, whose derivative at x is g(x).
std::optional<BranchDirection> direction_of(double (*g)(double), const char* name = "one") {
  const std::vector<double> x = point_at_kinks();
  const std::vector<double> v = normal(2, kBranchSize);
  ToyGradient gradient = ToyGradient::elementwise(tensor_of(x), g);
  std::vector<double> a = v;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] *= g(x[i]);
  return branch_direction(gradient, 0, {tensor_of(v)}, a, any_direction(), 7, name);
}

TEST(BranchDirection, LeavesKinksOnTheSideOfTheClaim) {
  const std::vector<double> x = point_at_kinks();
  const std::vector<double> before = any_direction();
  const auto found = direction_of([](double t) { return t > 0 ? 1.0 : 0.0; });
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_whole);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NE(found->direction[i], 0) << i;
    if (x[i] != 0 || before[i] < 0) {
      EXPECT_EQ(found->direction[i], before[i]) << i;
    } else {
      EXPECT_LT(found->direction[i], 0) << i;
    }
  }
}

TEST(BranchDirection, WhereThereIsOneBranchIsAnyDirection) {
  const auto found = direction_of([](double t) { return std::exp(t); });
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_whole);
  EXPECT_EQ(found->direction, any_direction());
}

TEST(BranchDirection, OfAnotherNameIsAnother) {
  const auto relu = [](double t) { return t > 0 ? 1.0 : 0.0; };
  const std::vector<double> one = direction_of(relu)->direction;
  const std::vector<double> other = direction_of(relu, "other")->direction;
  const std::vector<double> before = any_direction();
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i] == other[i], one[i] == before[i]);
}

TEST(BranchDirection, MovesNoElementWhoseClaimIsOfNoBranch) {
  const std::vector<double> x = point_at_kinks();
  const auto found = direction_of([](double t) { return t == 0 ? 0.5 : t > 0 ? 1.0 : 0.0; });
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_whole);
  const std::vector<double> before = any_direction();
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(found->direction[i], x[i] == 0 ? 0 : before[i]) << i;
  }
}

TEST(BranchDirection, IsNoneWhereTheGradientIsNoNumber) {
  EXPECT_FALSE(direction_of([](double t) { return std::sqrt(t); }));  // of negative elements
}

TEST(BranchDirection, IsNoneWhereTheCodeThrows) {
  const Tensor x = tensor_of({1, 2});
  ToyGradient gradient({x}, [](const auto&, const auto&) -> std::vector<Tensor> {
    throw InvalidArgument("out of the domain");
  });
  EXPECT_FALSE(branch_direction(gradient, 0, {x}, {1, 2}, {1, -1}, 7, "one"));
}

TEST(BranchDirection, EndsWithWhatTheUserInterrupts) {
  const Tensor x = tensor_of({1, 2});
  Interruption interruption;
  ToyGradient gradient({x}, [&](const auto&, const auto& v) {
    interruption.request();
    interruption.check("gradient");
    return v;
  });
  gradient.set_interruption(&interruption);
  EXPECT_THROW(with_plain_exceptions(
                   [&] { return branch_direction(gradient, 0, {x}, {1, 2}, {1, -1}, 7, "one"); }),
               Interrupted);
}

}  // namespace
}  // namespace fluidcore::gradcheck
