#include "fluidcore/kernels/cpu/lrn.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore::cpu {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Lrn, WindowsEndWithTheChannelsOfTheirImage) {
  const std::vector<double> x{1, 2, 3, 10, 20, 30};
  std::vector<double> out(6);
  window_sums<double>({2, 3, 1, 1, 0}, x.data(), out.data());
  EXPECT_THAT(out, ElementsAre(1, 3, 5, 10, 30, 50));
  window_sums<double>({2, 3, 1, 0, 7}, x.data(), out.data());
  EXPECT_THAT(out, ElementsAre(6, 5, 3, 60, 50, 30));
}

TEST(Lrn, DividesByThePowerOfTheMiddle) {
  const Lrn norm{{1, 3, 1, 1, 1}, 1.0, 0.5, 1.0};
  const std::vector<double> x{2, 4, 6};
  std::vector<double> mid(3);
  std::vector<double> out(3);
  lrn(norm, x.data(), mid.data(), out.data());
  EXPECT_THAT(mid, ElementsAre(11, 29, 27));
  EXPECT_THAT(out, ElementsAre(DoubleEq(2.0 / 11), DoubleEq(4.0 / 29), DoubleEq(6.0 / 27)));
}

TEST(Lrn, GradientIsThatOfOneElementAndOfItsNeighbours) {
  const Lrn norm{{1, 2, 1, 0, 1}, 1.0, 0.5, 1.0};  // out[0] = x0 / (1 + (x0^2 + x1^2) / 2)
  const std::vector<double> x{2, 4};
  const std::vector<double> cotangent{1, 0};
  std::vector<double> scratch(2);
  std::vector<double> grad(2);
  lrn_grad(norm, x.data(), cotangent.data(), scratch.data(), grad.data());
  EXPECT_THAT(grad, ElementsAre(DoubleEq(1.0 / 11 - 4.0 / 121), DoubleEq(-8.0 / 121)));
}

}  // namespace
}  // namespace fluidcore::cpu
