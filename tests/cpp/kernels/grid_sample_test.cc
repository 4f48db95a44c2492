#include "fluidcore/kernels/cpu/grid_sample.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

using Doubles = std::vector<double>;

constexpr Resampling kModes[] = {Resampling::kNearest, Resampling::kLinear, Resampling::kCubic};
constexpr Beyond kPaddings[] = {Beyond::kZeros, Beyond::kBorder, Beyond::kReflection};

TEST(GridSample, SeesTheMeanBetweenFourElements) {
  const Doubles image = {1, 2, 3, 4};
  const Doubles middle = {0, 0};
  double seen = 0;
  grid_sample({.images = 1, .channels = 1, .height = 2, .width = 2, .points = 1}, image.data(),
              middle.data(), &seen);
  EXPECT_DOUBLE_EQ(seen, 2.5);
}

// <y, sample(x)> = <adjoint(y), x>, for points far outside, too.
TEST(GridSample, TheAdjointIsTheTransposedMap) {
  for (const Resampling mode : kModes) {
    for (const Beyond beyond : kPaddings) {
      const GridSample sample{2, 6, 4, 5, 150, mode, beyond, false, {0, 0}};
      const Doubles x = sines(2 * 6 * 4 * 5, 1);
      const Doubles grid = sines(2 * 150 * 2, 4);
      const Doubles y = sines(2 * 6 * 150, 2);
      Doubles seen(y.size());
      Doubles back(x.size());
      grid_sample(sample, x.data(), grid.data(), seen.data());
      grid_sample_adjoint(sample, grid.data(), y.data(), back.data());
      EXPECT_NEAR(std::inner_product(y.begin(), y.end(), seen.begin(), 0.0),
                  std::inner_product(x.begin(), x.end(), back.begin(), 0.0), 1e-10);
    }
  }
}

TEST(GridSample, ReadsNothingOutsideOfAnImage) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Doubles grid = {infinity, -infinity, 1e300, -1e300, 1e9, -1e18, std::nan(""), 0.0};
  for (const Resampling mode : kModes) {
    for (const Beyond beyond : kPaddings) {
      for (const bool align_corners : {false, true}) {
        const GridSample sample{1, 1, 1, 3, 4, mode, beyond, align_corners, {0, 0}};
        const Doubles x = {1, 1, 1};
        Doubles seen(4);
        Doubles back(3);
        Doubles dgrid(8);
        grid_sample(sample, x.data(), grid.data(), seen.data());
        grid_sample_adjoint(sample, grid.data(), seen.data(), back.data());
        grid_sample_grid_grad(sample, x.data(), grid.data(), seen.data(), dgrid.data());
        EXPECT_NEAR(seen[0], beyond == Beyond::kZeros ? 0 : 1, 1e-12);
      }
    }
  }
}

TEST(GridSample, IsTheSameWithAnyNumberOfThreads) {
  const GridSample sample{2, 7, 9, 11, 999, Resampling::kCubic, Beyond::kReflection, true, {0, 0}};
  const Doubles x = sines(2 * 7 * 9 * 11, 1);
  const Doubles grid = sines(2 * 999 * 2, 2);
  const Doubles y = sines(2 * 7 * 999, 1);
  const auto all = [&](int threads) {
    const ThreadCountScope scope(threads);
    Doubles results(y.size() + x.size() + grid.size());
    grid_sample(sample, x.data(), grid.data(), results.data());
    grid_sample_adjoint(sample, grid.data(), y.data(), &results[y.size()]);
    grid_sample_grid_grad(sample, x.data(), grid.data(), y.data(), &results[y.size() + x.size()]);
    return results;
  };
  EXPECT_EQ(all(1), all(3));
}

}  // namespace
}  // namespace fluidcore::cpu
