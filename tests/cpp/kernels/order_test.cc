#include "fluidcore/kernels/cpu/order.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"
#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

using Indices = std::vector<std::int64_t>;

Indices first(bool descending, const std::vector<float>& x) {
  Indices found(1);
  find_first({1, static_cast<std::int64_t>(x.size()), 1, descending}, DType::kFloat32, x.data(),
             found.data());
  return found;
}

TEST(OrderTest, FindsTheFirstOfEqualElements) {
  EXPECT_EQ(first(true, {1, 3, 2, 3}), Indices{1});
  EXPECT_EQ(first(false, {2, 1, 3, 1}), Indices{1});
}

TEST(OrderTest, FindsTheFirstNanBeforeEverythingElse) {
  EXPECT_EQ(first(true, {1, kNaN, 9, kNaN}), Indices{1});
  EXPECT_EQ(first(false, {1, kNaN, -9, kNaN}), Indices{1});
}

TEST(OrderTest, EveryColumnOfManyIsSearchedAlone) {
  for (const int threads : {1, 2}) {
    const ThreadCountScope scope(threads);
    for (const std::int64_t inner : {1, 3, 700}) {
      const OrderedDim dim{3, 20, inner, false};
      std::vector<std::int64_t> x(60 * inner);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int64_t>(i * i % 37);
      Indices found(3 * inner);
      find_first(dim, DType::kInt64, x.data(), found.data());
      for (std::int64_t i = 0; i < 3 * inner; ++i) {
        const std::int64_t start = i / inner * 20 * inner + i % inner;
        Indices column;
        for (std::int64_t row = 0; row < 20; ++row) column.push_back(row);
        std::ranges::stable_sort(column, {}, [&](auto row) { return x[start + row * inner]; });
        ASSERT_EQ(found[i], column[0]);
      }
    }
  }
}

}  // namespace
}  // namespace fluidcore::cpu
