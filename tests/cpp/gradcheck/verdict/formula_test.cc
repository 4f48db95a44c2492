#include "fluidcore/gradcheck/verdict/formula.h"

#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "gradcheck/toy_formula.h"

namespace fluidcore::gradcheck {
namespace {

ToyFunction affine(const std::vector<double>& x, double factor, double offset) {
  return ToyFunction::elementwise(tensor_of(x), [=](double t) { return factor * t + offset; });
}

TEST(Heights, AreTheTermsOfFOverTheSizeOfX) {
  ToyFunction f = affine({3, -4, 0, 5}, 2, 0);
  const Formula formula = formula_of(f, {{1, -2, 3, 0.5}, {-1, 0, 0, 0}});
  const std::vector<double> heights = formula.heights(0);
  ASSERT_EQ(heights.size(), 2U);
  const double size = std::sqrt(50.0 / 4);
  EXPECT_NEAR(heights[0], (6 + 16 + 5) / size, 1e-14);
  EXPECT_NEAR(heights[1], 6 / size, 1e-14);
}

TEST(Heights, OfAnXOf0AreThoseOfTheSize1) {
  ToyFunction f = affine({0, 0, 0}, 1, 7);
  EXPECT_EQ(formula_of(f, {{1, -2, 3}}).heights(0), std::vector<double>{42});
}

TEST(Formula, IsLateOnceTheTimeIsOver) {
  ToyFunction f = affine({1}, 1, 0);
  const Formula formula = formula_of(f);
  EXPECT_FALSE(formula.is_late());
  Interruption interruption;
  f.set_interruption(&interruption);
  interruption.limit(std::chrono::hours(1));
  EXPECT_FALSE(formula.is_late());
  interruption.limit(std::chrono::seconds(0));
  EXPECT_TRUE(formula.is_late());
}

TEST(Formula, IsNotLateWhenTheUserEndsIt) {
  ToyFunction f = affine({1}, 1, 0);
  const Formula formula = formula_of(f);
  Interruption interruption;
  f.set_interruption(&interruption);
  interruption.request();
  EXPECT_THROW(formula.is_late(), Interrupted);
}

}  // namespace
}  // namespace fluidcore::gradcheck
