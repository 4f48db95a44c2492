#include "fluidcore/gradcheck/verdict/near_point.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;

ToyFunction square_root() {
  return ToyFunction::elementwise(tensor_of({4, 1e-6}), [](double x) { return std::sqrt(x); });
}

TEST(NearPoint, IsHalfOfItsPartAwayOrMore) {
  const ToyFunction f = square_root();
  const NearPoint near{1e-3, 1, 7};
  const MovedInputs moved(f, 0, move_to(near, f, 0, 0));
  const std::vector<double> x = values_of(f.inputs()[0]);
  EXPECT_THAT(x[0] / 4 - 1, testing::AllOf(testing::Ge(0.499e-3), testing::Le(1.001e-3)));
  EXPECT_THAT(x[1] / 1e-6 - 1, testing::AllOf(testing::Ge(0.499e-3), testing::Le(1.001e-3)));
}

TEST(NearPoint, LeadsNoSmallElementOutOfTheDomain) {
  ToyFunction f = square_root();
  const MovedInputs moved(f, 0, move_to({1e-3, 0, 7}, f, 0, 0));
  EXPECT_TRUE(is_in_domain(f));
}

TEST(NearPoint, IsOutOfTheDomainWhereFThrows) {
  ToyFunction f = ToyFunction::elementwise(
      tensor_of({1}), [](double /*x*/) -> double { throw std::domain_error("nowhere"); });
  EXPECT_FALSE(is_in_domain(f));
}

}  // namespace
}  // namespace fluidcore::gradcheck
