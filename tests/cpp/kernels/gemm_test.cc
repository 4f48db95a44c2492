#include "fluidcore/kernels/cpu/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "fluidcore/base/threads.h"
#include "fluidcore/tensor/tensor.h"
#include "kernels/isas.h"

namespace fluidcore::cpu {
namespace {

struct Problem {
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false, transpose_c = false;

  MatrixLayout a() const { return transpose_a ? MatrixLayout{1, m} : MatrixLayout{k, 1}; }
  MatrixLayout b() const { return transpose_b ? MatrixLayout{1, k} : MatrixLayout{n, 1}; }
  MatrixLayout c() const { return transpose_c ? MatrixLayout{1, m} : MatrixLayout{n, 1}; }
};

template <class T>
std::vector<T> quarters(std::int64_t size, std::int64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i);
    values[i] = static_cast<T>((step * 7 + seed) % 11 - 5) / T(4);
  }
  return values;
}

template <class T>
std::vector<T> blocked_product(const Problem& p, Isa isa, int threads, bool accumulate) {
  const ThreadCountScope scope(threads);
  const Gemm<T> gemm(p.m, p.n, p.k, p.a(), p.b(), p.c(), isa);
  const std::shared_ptr<void> scratch = allocate(gemm.scratch_bytes());
  const std::vector<T> a = quarters<T>(p.m * p.k, 1);
  const std::vector<T> b = quarters<T>(p.k * p.n, 2);
  std::vector<T> c = quarters<T>(p.m * p.n, 3);
  gemm(a.data(), b.data(), c.data(), accumulate, static_cast<T*>(scratch.get()));
  return c;
}

template <class T>
std::vector<T> naive_product(const Problem& p, bool accumulate) {
  const std::vector<T> a = quarters<T>(p.m * p.k, 1);
  const std::vector<T> b = quarters<T>(p.k * p.n, 2);
  std::vector<T> c = quarters<T>(p.m * p.n, 3);
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (std::int64_t q = 0; q < p.k; ++q) {
        sum += a[static_cast<std::size_t>(i * p.a().row + q * p.a().col)] *
               b[static_cast<std::size_t>(q * p.b().row + j * p.b().col)];
      }
      T& out = c[static_cast<std::size_t>(i * p.c().row + j * p.c().col)];
      out = accumulate ? out + sum : sum;
    }
  }
  return c;
}

// The numbers are multiples of 1/16 and small, so that every order of summation is exact.
const std::vector<Problem> kGemmProblems = {
    {1, 1, 1},
    {1, 1, 300},
    {5, 7, 3},
    {17, 1, 9},
    {1, 33, 9},
    {0, 4, 3},
    {4, 0, 3},
    {3, 4, 0},
    {13, 65, 257},
    {130, 49, 513},
    {7, 1030, 3},
    {1031, 7, 2},
    {9, 34, 300, true, false, false},
    {9, 34, 300, false, true, false},
    {9, 34, 30, true, true, false},
    {9, 34, 30, false, false, true},
    {40, 3, 30, true, true, true},
    {17, 1, 9, true, false, false},
};

template <class T>
class GemmTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, Types);

TYPED_TEST(GemmTest, EqualsTheNaiveLoopOnEveryInstructionSet) {
  for (const Isa isa : available_isas()) {
    for (const Problem& p : kGemmProblems) {
      EXPECT_EQ(blocked_product<TypeParam>(p, isa, 1, false), naive_product<TypeParam>(p, false))
          << to_string(isa) << " " << p.m << "x" << p.n << "x" << p.k;
    }
  }
}

TYPED_TEST(GemmTest, AccumulatesOntoWhatIsThere) {
  for (const Problem& p : kGemmProblems) {
    EXPECT_EQ(blocked_product<TypeParam>(p, cpu_isa(), 1, true), naive_product<TypeParam>(p, true))
        << p.m << "x" << p.n << "x" << p.k;
  }
}

TYPED_TEST(GemmTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const Problem large{300, 200, 270};
  const ThreadCountScope scope(1);
  const Gemm<TypeParam> gemm(large.m, large.n, large.k, large.a(), large.b(), large.c());
  const std::shared_ptr<void> scratch = allocate(gemm.scratch_bytes());
  std::vector<TypeParam> a(static_cast<std::size_t>(large.m * large.k));
  std::vector<TypeParam> b(static_cast<std::size_t>(large.k * large.n));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<TypeParam>(std::sin(double(i)));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<TypeParam>(std::cos(double(i)));
  std::vector<std::vector<TypeParam>> results;
  for (const int threads : {1, 2, 3}) {
    const ThreadCountScope inner(threads);
    std::vector<TypeParam> c(static_cast<std::size_t>(large.m * large.n));
    gemm(a.data(), b.data(), c.data(), false, static_cast<TypeParam*>(scratch.get()));
    results.push_back(std::move(c));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace fluidcore::cpu
