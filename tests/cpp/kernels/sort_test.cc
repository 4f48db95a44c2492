#include "fluidcore/kernels/cpu/sort.h"

#include <algorithm>
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

using Indices = std::vector<std::int64_t>;

template <class T>
Indices sorted(const OrderedDim& dim, const std::vector<T>& x) {
  Indices found(x.size());
  std::vector<OrderedKey> memory(static_cast<std::size_t>(sort_keys(dim)));
  sort_indices(dim, dtype_of<T>, x.data(), memory.data(), found.data());
  return found;
}

template <class T>
Indices greatest(std::int64_t rows, std::int64_t k, const std::vector<T>& x) {
  Indices found(static_cast<std::size_t>(rows * k));
  std::vector<OrderedKey> memory(static_cast<std::size_t>(top_keys(rows, k)));
  find_greatest(rows, static_cast<std::int64_t>(x.size()) / rows, k, dtype_of<T>, x.data(),
                memory.data(), found.data());
  return found;
}

// Some numbers many times, with NaN and both zeros.
std::vector<float> repeated_numbers(std::int64_t count) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i * i % 101 - 50);
    x.push_back(i % 97 == 5           ? kNaN
                : i % 89 == 7         ? -kInfinity
                : value == 0 && i % 2 ? -0.0F
                                      : value);
  }
  return x;
}

// Where the elements of one column are in its order.
template <class T>
Indices order_of(const std::vector<T>& column, bool descending) {
  Indices order(column.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    const auto at_a = static_cast<double>(column[static_cast<std::size_t>(a)]);
    const auto at_b = static_cast<double>(column[static_cast<std::size_t>(b)]);
    if (std::isnan(at_a) || std::isnan(at_b)) {
      return std::isnan(descending ? at_a : at_b) && !std::isnan(descending ? at_b : at_a);
    }
    return descending ? at_a > at_b : at_a < at_b;
  });
  return order;
}

TEST(SortTest, EqualElementsStayInOrderAndNanIsTheGreatest) {
  const std::vector<float> x{2, kNaN, 1, 2, -0.0F, 0.0F};
  EXPECT_EQ(sorted({1, 6, 1, false}, x), (Indices{4, 5, 2, 0, 3, 1}));
  EXPECT_EQ(sorted({1, 6, 1, true}, x), (Indices{1, 0, 3, 2, 4, 5}));
}

TEST(SortTest, LongColumnsAreSortedAsShortOnes) {
  for (const std::int64_t count : {1, 127, 128, 600, 2000}) {
    const std::vector<float> x = repeated_numbers(count);
    for (const bool descending : {false, true}) {
      EXPECT_EQ(sorted({1, count, 1, descending}, x), order_of(x, descending)) << count;
    }
  }
}

TEST(SortTest, WholeNumbersOfEverySizeHaveTheirSigns) {
  const auto check = [](auto least, auto most) {
    using T = decltype(least);
    std::vector<T> x{most, 0, least, -1, 1};
    for (std::int64_t i = 0; i < 200; ++i) x.push_back(static_cast<T>(i * 7919 % 301 - 150));
    const auto count = static_cast<std::int64_t>(x.size());
    EXPECT_EQ(sorted({1, count, 1, false}, x).front(), 2);
    EXPECT_EQ(sorted({1, count, 1, false}, x).back(), 0);
    EXPECT_EQ(greatest(1, 1, x), Indices{0});
  };
  check(std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max());
  check(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  check(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
}

TEST(SortTest, EveryColumnOfManyIsSortedAlone) {
  for (const int threads : {1, 2}) {
    const ThreadCountScope scope(threads);
    for (const std::int64_t inner : {1, 3, 700}) {
      const OrderedDim dim{3, 20, inner, false};
      std::vector<std::int64_t> x(60 * inner);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int64_t>(i * i % 37);
      const Indices order = sorted(dim, x);
      for (std::int64_t i = 0; i < 3 * inner; ++i) {
        const std::int64_t start = i / inner * 20 * inner + i % inner;
        std::vector<std::int64_t> column;
        for (std::int64_t row = 0; row < 20; ++row) column.push_back(x[start + row * inner]);
        const Indices expected = order_of(column, false);
        for (std::int64_t row = 0; row < 20; ++row) {
          ASSERT_EQ(order[start + row * inner], expected[row]);
        }
      }
    }
  }
}

TEST(SortTest, TheGreatestAreTheFirstOfTheSorted) {
  for (const std::int64_t width : {1, 17, 600, 2000}) {
    const std::vector<float> x = repeated_numbers(width);
    const Indices order = order_of(x, true);
    for (const std::int64_t k : {std::int64_t{1}, (width + 1) / 2, width}) {
      EXPECT_EQ(greatest(1, k, x), Indices(order.begin(), order.begin() + k)) << width << " " << k;
    }
  }
}

TEST(SortTest, EveryRowHasItsOwnGreatest) {
  for (const int threads : {1, 2}) {
    const ThreadCountScope scope(threads);
    std::vector<float> x = repeated_numbers(300 * 40);
    const Indices found = greatest(300, 3, x);
    for (std::int64_t row = 0; row < 300; ++row) {
      const std::vector<float> own(x.begin() + row * 40, x.begin() + (row + 1) * 40);
      const Indices order = order_of(own, true);
      for (std::int64_t i = 0; i < 3; ++i) ASSERT_EQ(found[row * 3 + i], order[i]) << row;
    }
  }
}

}  // namespace
}  // namespace fluidcore::cpu
