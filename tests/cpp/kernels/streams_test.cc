#include "fluidcore/kernels/cpu/streams.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/float16.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/functors.h"

namespace fluidcore::cpu {
namespace {

template <class T>
void expect_products_in_place(int threads) {
  const ThreadCountScope scope(threads);
  const std::int64_t size = 3 * kGrain + 7;
  std::vector<T> x(size);
  std::vector<T> y(size);
  for (std::int64_t i = 0; i < size; ++i) {
    x[i] = static_cast<T>(static_cast<ComputeType<T>>(i % 13));
    y[i] = static_cast<T>(static_cast<ComputeType<T>>(i % 7 - 3));
  }
  const std::array<const void*, 2> in{x.data(), y.data()};
  const StreamFormula product = stream_formula<T, T, T>(Mul());
  run_streams(product, size, y.data(), in.data());
  for (std::int64_t i = 0; i < size; ++i) {
    EXPECT_EQ(static_cast<double>(static_cast<ComputeType<T>>(y[i])),
              static_cast<double>(i % 13 * (i % 7 - 3)))
        << i;
  }
}

TEST(Streams, AResultMayReplaceAnInputInEveryType) {
  for (const int threads : {1, 2}) {
    expect_products_in_place<float>(threads);
    expect_products_in_place<double>(threads);
    expect_products_in_place<Float16>(threads);
    expect_products_in_place<BFloat16>(threads);
    expect_products_in_place<std::int32_t>(threads);
    expect_products_in_place<std::int64_t>(threads);
  }
}

TEST(Streams, AFormulaKeepsItsMembers) {
  const std::vector<double> x{-3.0, 0.25, 3.0};
  std::vector<double> out(x.size());
  const std::array<const void*, 1> in{x.data()};
  run_streams(stream_formula<double, double>(Clip{-1.0, 2.0}), 3, out.data(), in.data());
  EXPECT_EQ(out, (std::vector<double>{-1.0, 0.25, 2.0}));
}

}  // namespace
}  // namespace fluidcore::cpu
