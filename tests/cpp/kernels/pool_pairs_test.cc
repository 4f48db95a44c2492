#include "fluidcore/kernels/cpu/pool_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/kernels/cpu/pool.h"
#include "kernels/isas.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

PoolProblem pool_problem(const Spatial& in,
                         const Spatial& kernel,
                         const Spatial& stride,
                         const Spatial& pad) {
  PoolProblem p{.axes = 3,
                .batch = 2,
                .channels = 3,
                .in = in,
                .kernel = kernel,
                .stride = stride,
                .pad = pad};
  for (std::size_t i = 0; i < in.size(); ++i) {
    p.out[i] = (in[i] + 2 * pad[i] - kernel[i]) / stride[i] + 1;
  }
  return p;
}

// Lines longer and shorter than a block, a column that is left over, padding above and below,
// volumes, and a last window that reaches beyond the padding.
std::vector<PoolProblem> problems() {
  std::vector<PoolProblem> all{
      pool_problem({1, 28, 28}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}),
      pool_problem({1, 7, 11}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}),
      pool_problem({1, 6, 5}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}),
      pool_problem({5, 9, 40}, {2, 3, 2}, {2, 3, 2}, {0, 0, 0}),
      pool_problem({1, 3, 20}, {1, 1, 2}, {1, 1, 2}, {0, 0, 0}),
      pool_problem({1, 31, 33}, {1, 3, 2}, {1, 1, 2}, {0, 1, 0}),
      pool_problem({4, 5, 50}, {2, 3, 2}, {2, 1, 2}, {1, 1, 0}),
  };
  PoolProblem beyond = pool_problem({1, 8, 16}, {1, 3, 2}, {1, 2, 2}, {0, 0, 0});
  beyond.out[kHeight] = 4;
  all.push_back(beyond);
  return all;
}

// Numbers of [-1, 1), of few different ones, so that windows have several greatest.
std::vector<float> coarse_numbers(std::int64_t count, unsigned seed, float steps) {
  std::vector<float> coarse = numbers<float>(count, seed);
  for (float& value : coarse) value = std::floor(value * steps) / steps;
  return coarse;
}

TEST(PoolPairs, GradientsAreThoseOfTheDefinition) {
  int checked = 0;
  for (PoolProblem p : problems()) {
    if (!has_pool_pairs_grad(p)) continue;
    ++checked;
    const std::vector<float> x = coarse_numbers(p.planes() * p.in_plane(), 1, 4);
    const std::vector<float> out_grad = coarse_numbers(p.planes() * p.out_plane(), 2, 1e4);
    const std::vector<double> precise(x.begin(), x.end());
    const std::vector<double> precise_grad(out_grad.begin(), out_grad.end());
    for (const Pooling pooling : {Pooling::kMax, Pooling::kAverage}) {
      p.pooling = pooling;
      std::vector<double> expected(x.size());
      prepare_pool_grad<double>(p)(precise.data(), precise_grad.data(), expected.data());
      for (const Isa isa : available_isas()) {
        std::vector<float> x_grad(x.size(), 7);
        prepare_pool_pairs_grad(p, isa)(p.planes(), x.data(), out_grad.data(), x_grad.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
          ASSERT_NEAR(x_grad[i], expected[i], pooling == Pooling::kMax ? 0 : 1e-7)
              << to_string(isa) << " " << i;
        }
      }
    }
  }
  EXPECT_EQ(checked, 5);
}

TEST(PoolPairs, TheFirstNaNOfAWindowGetsItsGradient) {
  PoolProblem p = pool_problem({1, 2, 16}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0});
  p.batch = p.channels = 1;
  std::vector<float> x(32, -std::numeric_limits<float>::infinity());
  x[17] = x[1] = std::numeric_limits<float>::quiet_NaN();
  x[0] = 3;
  const std::vector<float> out_grad(8, 2);
  for (const Isa isa : available_isas()) {
    std::vector<float> x_grad(32, 7);
    prepare_pool_pairs_grad(p, isa)(1, x.data(), out_grad.data(), x_grad.data());
    for (std::size_t i = 0; i < 32; ++i) {
      const bool is_first = i == 1 || (i > 0 && i < 16 && i % 2 == 0);
      ASSERT_EQ(x_grad[i], is_first ? 2 : 0) << to_string(isa) << " " << i;
    }
  }
}

TEST(PoolPairs, AreThoseOfTheDefinition) {
  for (PoolProblem p : problems()) {
    std::vector<float> x(static_cast<std::size_t>(p.planes() * p.in_plane()));
    unsigned state = 1;
    for (float& value : x) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(state >> 16U) / 32768.0F - 1.0F;
    }
    const std::vector<double> precise(x.begin(), x.end());
    const auto size = static_cast<std::size_t>(p.planes() * p.out_plane());
    for (const Pooling pooling : {Pooling::kMax, Pooling::kAverage}) {
      p.pooling = pooling;
      ASSERT_TRUE(has_pool_pairs(p));
      std::vector<double> expected(size);
      prepare_pool<double>(p)(precise.data(), expected.data());
      for (const Isa isa : available_isas()) {
        std::vector<float> out(size);
        prepare_pool_pairs(p, isa)(p.planes(), x.data(), out.data());
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_NEAR(out[i], expected[i], pooling == Pooling::kMax ? 0 : 1e-6)
              << to_string(isa) << " " << i;
        }
      }
    }
  }
}

TEST(PoolPairs, GiveTheNaNOfAWindowAndInfinitiesBelowAll) {
  PoolProblem p = pool_problem({1, 4, 40}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0});
  p.batch = p.channels = 1;
  std::vector<float> x(160, -std::numeric_limits<float>::infinity());
  x[43] = std::nanf("");
  for (const Isa isa : available_isas()) {
    std::vector<float> out(40);
    prepare_pool_pairs(p, isa)(1, x.data(), out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_EQ(std::isnan(out[i]), i == 1) << i;
      if (i != 1) {
        EXPECT_EQ(out[i], -std::numeric_limits<float>::infinity());
      }
    }
  }
}

TEST(PoolPairs, AreWholeAndDoNotOverlap) {
  const PoolProblem p = pool_problem({1, 4, 40}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0});
  EXPECT_TRUE(has_pool_pairs(p));
  PoolProblem adaptive = p;
  adaptive.adaptive = true;
  PoolProblem last = p;
  last.channels_last = true;
  PoolProblem cut = pool_problem({1, 4, 41}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0});
  cut.out[kWidth] = 21;
  const PoolProblem overlapping = pool_problem({1, 4, 40}, {1, 2, 3}, {1, 2, 2}, {0, 0, 0});
  const PoolProblem padded = pool_problem({1, 4, 40}, {1, 2, 2}, {1, 2, 2}, {0, 0, 1});
  for (const PoolProblem& other : {adaptive, last, cut, overlapping, padded}) {
    EXPECT_FALSE(has_pool_pairs(other));
  }
}

}  // namespace
}  // namespace fluidcore::cpu
