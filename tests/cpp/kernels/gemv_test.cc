#include "fluidcore/kernels/cpu/gemv.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {
namespace {

std::vector<float> thousandths(std::int64_t count, int seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>((i * 7919 + seed * 104729) % 2003) / 1000.0F - 1.0F);
  }
  return values;
}

// [m, k] x [k, n], where B lies row by row or column by column.
MatmulProblem gemv_problem(std::int64_t m, std::int64_t k, std::int64_t n, bool columns) {
  MatmulProblem product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a = {k, 1, {}};
  product.b = columns ? MatmulOperand{1, k, {}} : MatmulOperand{n, 1, {}};
  product.c = {n, 1, {}};
  return product;
}

void expect_product(std::int64_t m, std::int64_t k, std::int64_t n, bool columns) {
  SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << " columns " << columns);
  const std::vector<float> a = thousandths(m * k, 1);
  const std::vector<float> b = thousandths(k * n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n), NAN);
  const Prepared2<float> product = prepare_gemv<float>(gemv_problem(m, k, n, columns));
  ASSERT_TRUE(product);
  product(a.data(), b.data(), c.data());
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const std::int64_t at = columns ? j * k + p : p * n + j;
        sum += static_cast<double>(a[static_cast<std::size_t>(i * k + p)]) *
               static_cast<double>(b[static_cast<std::size_t>(at)]);
      }
      EXPECT_NEAR(c[static_cast<std::size_t>(i * n + j)], sum, 1e-6 * static_cast<double>(k));
    }
  }
}

TEST(Gemv, EqualsTheNaiveLoopForEveryLayout) {
  for (const bool columns : {false, true}) {
    for (const std::int64_t size : {1, 3, 8, 17, 700}) {
      expect_product(1, 37, size, columns);
      expect_product(1, size, 5, columns);
      expect_product(size, 21, 1, columns);
    }
  }
}

TEST(Gemv, AddsUpThePartsOfALargeMatrix) {
  expect_product(1, 300, 500, false);
  expect_product(1, 40, 5000, false);
}

TEST(Gemv, LeavesOtherProductsToOthers) {
  EXPECT_FALSE(prepare_gemv<float>(gemv_problem(2, 3, 2, false)));
  EXPECT_FALSE(prepare_gemv<float>(gemv_problem(1, 0, 2, false)));
  MatmulProblem with_gaps = gemv_problem(1, 4, 4, false);
  with_gaps.b.col = 2;
  EXPECT_FALSE(prepare_gemv<float>(with_gaps));
}

TEST(Gemv, GivesTheSameBitsForAnyNumberOfThreads) {
  const std::vector<float> a = thousandths(1000, 1);
  const std::vector<float> b = thousandths(1000 * 1003, 2);
  for (const bool columns : {false, true}) {
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      const ThreadCountScope scope(threads);
      std::vector<float> c(1003);
      prepare_gemv<float>(gemv_problem(1, 1000, 1003, columns))(a.data(), b.data(), c.data());
      results.push_back(c);
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
  }
}

}  // namespace
}  // namespace fluidcore::cpu
