#include "fluidcore/kernels/cpu/pool.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using testing::ElementsAre;

// One plane of 2 x 2 x 3 in windows of 2 x 2 x 2, with padding on the sides of the last axis.
PoolProblem volumes(Pooling pooling) {
  return {.pooling = pooling,
          .axes = 3,
          .batch = 1,
          .channels = 1,
          .in = {2, 2, 3},
          .kernel = {2, 2, 2},
          .out = {1, 1, 2},
          .stride = {1, 1, 2},
          .pad = {0, 0, 1}};
}

const std::vector<double> kVolume{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

TEST(Pool, TakesTheMaximumOverAllAxes) {
  std::vector<double> out(2);
  cpu::prepare_pool<double>(volumes(Pooling::kMax))(kVolume.data(), out.data());
  EXPECT_THAT(out, ElementsAre(10, 12));
}

TEST(Pool, DividesByTheElementsThatAreThere) {
  std::vector<double> out(2);
  cpu::prepare_pool<double>(volumes(Pooling::kAverage))(kVolume.data(), out.data());
  EXPECT_THAT(out, ElementsAre((1 + 4 + 7 + 10) / 4.0, (2 + 3 + 5 + 6 + 8 + 9 + 11 + 12) / 8.0));
}

TEST(Pool, GivesTheGradientToTheFirstMaximum) {
  const std::vector<double> equal(12, 3.0);
  const std::vector<double> cotangent{5, 7};
  std::vector<double> grad(12, -1.0);
  cpu::prepare_pool_grad<double>(volumes(Pooling::kMax))(equal.data(), cotangent.data(),
                                                         grad.data());
  EXPECT_THAT(grad, ElementsAre(5, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Pool, NamesThePlaceOfTheFirstMaximum) {
  std::vector<double> x = kVolume;
  x[4] = std::nan("");
  x[6] = 10;
  std::vector<double> out(2);
  std::vector<std::int32_t> index(2);
  cpu::prepare_max_pool_with_index<double>(volumes(Pooling::kMax))(x.data(), out.data(),
                                                                   index.data());
  EXPECT_EQ(out[0], 10);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_THAT(index, ElementsAre(6, 4));
}

}  // namespace
}  // namespace fluidcore
