#include "fluidcore/kernels/cpu/packed_product.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/gemv.h"
#include "fluidcore/kernels/cpu/matmul.h"
#include "kernels/isas.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

// [m, k] times a matrix of k rows, or of its n columns one after the other.
MatmulProblem packed_problem(std::int64_t m,
                             std::int64_t k,
                             std::int64_t n,
                             bool by_columns = false) {
  return {.batch = {},
          .m = m,
          .n = n,
          .k = k,
          .a = {k, 1, {}},
          .b = {by_columns ? 1 : n, by_columns ? k : 1, {}},
          .c = {n, 1, {}}};
}

std::vector<float> multiplied(const MatmulProblem& p,
                              const std::vector<float>& x,
                              const std::vector<float>& weights,
                              Isa isa = cpu_isa(),
                              const Epilogue& epilogue = {}) {
  std::vector<float> y(static_cast<std::size_t>(p.m * p.n), kNaN);
  prepare_packed_product(p, isa)(x.data(), weights.data(), 1, y.data(), epilogue);
  return y;
}

void expect_product(const MatmulProblem& p, Isa isa) {
  SCOPED_TRACE(testing::Message() << to_string(isa) << " m " << p.m << " k " << p.k << " n " << p.n
                                  << " columns " << (p.b.row == 1));
  const auto x = numbers<float>(p.m * p.k, 1);
  const auto weights = numbers<float>(p.k * p.n, 2);
  const std::vector<float> y = multiplied(p, x, weights, isa);
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (std::int64_t q = 0; q < p.k; ++q) {
        sum += static_cast<double>(x[static_cast<std::size_t>(i * p.k + q)]) *
               weights[static_cast<std::size_t>(q * p.b.row + j * p.b.col)];
      }
      ASSERT_NEAR(y[static_cast<std::size_t>(i * p.n + j)], sum, 1e-7 * static_cast<double>(p.k))
          << "row " << i << " column " << j;
    }
  }
}

TEST(PackedProduct, EqualsTheDefinitionOnEveryInstructionSet) {
  for (const Isa isa : available_isas()) {
    for (const std::int64_t m : {1, 2, 3, 7, 8, 15, 40}) {
      for (const std::int64_t n : {2, 9, 16, 31, 32, 33, 50, 64, 100, 200}) {
        expect_product(packed_problem(m, 37, n), isa);
      }
    }
    expect_product(packed_problem(300, 130, 80), isa);
    expect_product(packed_problem(5, 1, 70), isa);
    expect_product(packed_problem(9, 80, 70, true), isa);
  }
}

TEST(PackedProduct, RowsMayHaveGapsBetweenThem) {
  MatmulProblem p = packed_problem(11, 30, 40);
  p.a.row = 35;
  p.c.row = 50;
  const auto x = numbers<float>(11 * 35, 1);
  const auto weights = numbers<float>(30 * 40, 2);
  std::vector<float> y(11 * 50, 7);
  prepare_packed_product(p)(x.data(), weights.data(), 0, y.data(), {});
  for (std::size_t i = 0; i < 11; ++i) {
    const std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(35 * i),
                                 x.begin() + static_cast<std::ptrdiff_t>(35 * i + 30));
    const std::vector<float> expected = multiplied(packed_problem(1, 30, 40), row, weights);
    for (std::size_t j = 0; j < 50; ++j) {
      EXPECT_EQ(y[i * 50 + j], j < 40 ? expected[j] : 7) << i << ", " << j;
    }
  }
}

TEST(PackedProduct, FinishesOutputsWithScaleBiasResidualAndRelu) {
  for (const std::int64_t n : {5, 75, 128}) {
    const std::int64_t m = 13;
    const MatmulProblem p = packed_problem(m, 50, n);
    const auto x = numbers<float>(m * 50, 1);
    const auto weights = numbers<float>(50 * n, 2);
    const auto scale = numbers<float>(n, 3);
    const auto bias = numbers<float>(n, 4);
    auto residual = numbers<float>(m * n, 5);
    residual[3] = kNaN;
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(to_string(isa));
      const std::vector<float> plain = multiplied(p, x, weights, isa);
      const std::vector<float> finished = multiplied(
          p, x, weights, isa,
          {.scale = scale.data(), .bias = bias.data(), .residual = residual.data(), .relu = true});
      const std::vector<float> biased = multiplied(p, x, weights, isa, {.bias = bias.data()});
      EXPECT_TRUE(std::isnan(finished[3]));
      for (std::size_t i = 4; i < plain.size(); ++i) {
        const std::size_t j = i % static_cast<std::size_t>(n);
        EXPECT_EQ(biased[i], plain[i] + bias[j]) << i;
        const float sum = plain[i] * scale[j] + bias[j] + residual[i];
        EXPECT_NEAR(finished[i], sum < 0 ? 0 : sum, 2e-6) << i;
      }
    }
  }
}

TEST(PackedProduct, ARowIsTheSameAloneAmongOthersAndOnAnyNumberOfThreads) {
  const std::int64_t k = 500;
  const std::int64_t n = 300;
  const auto x = numbers<float>(300 * k, 1);
  const auto weights = numbers<float>(k * n, 2);
  const std::vector<float> expected = multiplied(packed_problem(300, k, n), x, weights);
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadCountScope scope(threads);
    for (const std::int64_t m : {1, 2, 5, 12, 300}) {
      const std::vector<float> y = multiplied(packed_problem(m, k, n), x, weights);
      EXPECT_TRUE(std::equal(y.begin(), y.end(), expected.begin())) << threads << ", " << m;
    }
  }
}

TEST(PackedProduct, HasTheBitsOfTheOtherProducts) {
  for (const std::int64_t m : {1, 6}) {
    for (const std::int64_t k : {200, 257, 784, 3000}) {
      const MatmulProblem p = packed_problem(m, k, 70);
      const auto x = numbers<float>(m * k, 1);
      const auto weights = numbers<float>(k * 70, 2);
      std::vector<float> y(static_cast<std::size_t>(m * 70));
      if (m == 1) {
        prepare_gemv<float>(p)(x.data(), weights.data(), y.data());
        EXPECT_EQ(y, multiplied(p, x, weights)) << "gemv, k " << k;
      }
      prepare_matmul<float>(p, std::make_shared<Scratch>())(x.data(), weights.data(), y.data());
      EXPECT_EQ(y, multiplied(p, x, weights)) << "matmul, m " << m << " k " << k;
    }
  }
}

// A sum of so many products one after the other is wrong by some 5e-6.
TEST(PackedProduct, LongSumsAreAlmostAsExactAsShortOnes) {
  const std::int64_t k = 100'000;
  const std::int64_t n = 40;
  for (const std::int64_t m : {1, 3}) {
    const auto x = numbers<float>(m * k, 1);
    const auto weights = numbers<float>(k * n, 2);
    const std::vector<float> y = multiplied(packed_problem(m, k, n), x, weights);
    double error = 0;
    double size = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          sum += static_cast<double>(x[static_cast<std::size_t>(i * k + q)]) *
                 weights[static_cast<std::size_t>(q * n + j)];
        }
        error += std::pow(y[static_cast<std::size_t>(i * n + j)] - sum, 2);
        size += sum * sum;
      }
    }
    EXPECT_LT(std::sqrt(error / size), 1e-6) << m;
  }
}

TEST(PackedProduct, WeightsThatMayAlwaysHaveChangedGiveTheSameBits) {
  for (const std::int64_t m : {1, 3}) {
    for (const std::int64_t n : {70, 300}) {
      const MatmulProblem p = packed_problem(m, 200, n);
      const auto x = numbers<float>(m * 200, 1);
      const auto weights = numbers<float>(200 * n, 2);
      const auto bias = numbers<float>(n, 3);
      const Epilogue epilogue{.bias = bias.data(), .relu = true};
      std::vector<float> y(static_cast<std::size_t>(m * n));
      prepare_packed_product(p)(x.data(), weights.data(), 0, y.data(), epilogue);
      EXPECT_EQ(y, multiplied(p, x, weights, cpu_isa(), epilogue)) << m << ", " << n;
    }
  }
}

TEST(PackedProduct, WeightsOfTheSameVersionAreKept) {
  const FusedKernel product = prepare_packed_product(packed_problem(1, 2, 64));
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

TEST(PackedProduct, IsEmptyForBatchesStreamsAndElementsThatDoNotFollowEachOther) {
  EXPECT_TRUE(prepare_packed_product(packed_problem(4, 5, 6)));
  EXPECT_FALSE(prepare_packed_product(packed_problem(4, 0, 6)));
  EXPECT_FALSE(prepare_packed_product(packed_problem(4, 5, 1)));
  EXPECT_FALSE(prepare_packed_product(packed_problem(1, 5, 6, true)));
  for (MatmulOperand MatmulProblem::* operand : {&MatmulProblem::a, &MatmulProblem::c}) {
    MatmulProblem with_gaps = packed_problem(4, 5, 6);
    (with_gaps.*operand).col = 2;
    EXPECT_FALSE(prepare_packed_product(with_gaps));
  }
  MatmulProblem batches = packed_problem(4, 5, 6);
  batches.batch = {3};
  batches.a.batch = {20};
  batches.b.batch = {30};
  batches.c.batch = {24};
  EXPECT_FALSE(prepare_packed_product(batches));
}

}  // namespace
}  // namespace fluidcore::cpu
