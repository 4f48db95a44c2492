#include "fluidcore/kernels/cpu/packed_gemv.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "kernels/isas.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

// A row of `k` numbers times a matrix of k rows, or of its n columns one after the other.
MatmulProblem row_problem(std::int64_t k, std::int64_t n, bool by_columns = false) {
  return {.batch = {},
          .m = 1,
          .n = n,
          .k = k,
          .a = {k, 1, {}},
          .b = {by_columns ? 1 : n, by_columns ? k : 1, {}},
          .c = {n, 1, {}}};
}

std::vector<float> multiplied(const MatmulProblem& p,
                              const std::vector<float>& x,
                              const std::vector<float>& weights,
                              Isa isa,
                              const Epilogue& epilogue = {}) {
  std::vector<float> y(static_cast<std::size_t>(p.n), kNaN);
  prepare_packed_gemv(p, isa)(x.data(), weights.data(), 0, y.data(), epilogue);
  return y;
}

TEST(PackedGemv, EqualsTheDefinitionOnEveryInstructionSet) {
  for (const std::int64_t k : {1, 7, 300}) {
    for (const std::int64_t n : {64, 120, 128, 640}) {
      const auto x = numbers<float>(k, 1);
      const auto weights = numbers<float>(k * n, 2);
      for (const bool by_columns : {false, true}) {
        const MatmulProblem p = row_problem(k, n, by_columns);
        for (const Isa isa : available_isas()) {
          const std::vector<float> y = multiplied(p, x, weights, isa);
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t i = 0; i < k; ++i) {
              sum += static_cast<double>(x[static_cast<std::size_t>(i)]) *
                     weights[static_cast<std::size_t>(i * p.b.row + j * p.b.col)];
            }
            EXPECT_NEAR(y[static_cast<std::size_t>(j)], sum, 1e-7 * static_cast<double>(k))
                << to_string(isa) << " k " << k << " n " << n << " j " << j;
          }
        }
      }
    }
  }
}

TEST(PackedGemv, FinishesOutputsWithScaleBiasResidualAndRelu) {
  const std::int64_t n = 120;
  const MatmulProblem p = row_problem(50, n);
  const auto x = numbers<float>(50, 1);
  const auto weights = numbers<float>(50 * n, 2);
  const auto scale = numbers<float>(n, 3);
  const auto bias = numbers<float>(n, 4);
  auto residual = numbers<float>(n, 5);
  residual[3] = kNaN;
  for (const Isa isa : available_isas()) {
    const std::vector<float> plain = multiplied(p, x, weights, isa);
    const std::vector<float> finished = multiplied(
        p, x, weights, isa,
        {.scale = scale.data(), .bias = bias.data(), .residual = residual.data(), .relu = true});
    EXPECT_TRUE(std::isnan(finished[3]));
    for (std::size_t j = 4; j < plain.size(); ++j) {
      const float sum = plain[j] * scale[j] + bias[j] + residual[j];
      EXPECT_NEAR(finished[j], sum < 0 ? 0 : sum, 1e-6) << to_string(isa) << " j " << j;
    }
  }
}

TEST(PackedGemv, ThreadsChangeNoBit) {
  const MatmulProblem p = row_problem(500, 1000);
  const auto x = numbers<float>(500, 1);
  const auto weights = numbers<float>(500 * 1000, 2);
  const std::vector<float> expected = [&] {
    const ThreadCountScope alone(1);
    return multiplied(p, x, weights, cpu_isa());
  }();
  for (const int threads : {2, 3, 8}) {
    const ThreadCountScope scope(threads);
    EXPECT_EQ(multiplied(p, x, weights, cpu_isa()), expected) << threads;
  }
}

TEST(PackedGemv, WeightsOfTheSameVersionAreKept) {
  const MatmulProblem p = row_problem(2, 64);
  const FusedKernel product = prepare_packed_gemv(p);
  const std::vector<float> x = {1, 1};
  std::vector<float> weights(128, 1);
  std::vector<float> y(64);
  product(x.data(), weights.data(), 5, y.data(), {});
  EXPECT_EQ(y[63], 2);
  weights.assign(128, 3);
  product(x.data(), weights.data(), 5, y.data(), {});
  EXPECT_EQ(y[63], 2);
  product(x.data(), weights.data(), 6, y.data(), {});
  EXPECT_EQ(y[63], 6);
  weights.assign(128, 4);
  product(x.data(), weights.data(), 0, y.data(), {});
  EXPECT_EQ(y[63], 8);
}

TEST(PackedGemv, IsEmptyForWhatIsNoVectorOrWouldBeMuchLarger) {
  EXPECT_TRUE(prepare_packed_gemv(row_problem(4, 64)));
  EXPECT_FALSE(prepare_packed_gemv(row_problem(4, 10)));
  EXPECT_FALSE(prepare_packed_gemv(row_problem(4, 100)));
  EXPECT_FALSE(prepare_packed_gemv(row_problem(0, 64)));
  MatmulProblem rows = row_problem(4, 64);
  rows.m = 2;
  EXPECT_FALSE(prepare_packed_gemv(rows));
  MatmulProblem with_gaps = row_problem(4, 64);
  with_gaps.a.col = 2;
  EXPECT_FALSE(prepare_packed_gemv(with_gaps));
}

}  // namespace
}  // namespace fluidcore::cpu
