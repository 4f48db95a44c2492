#include "fluidcore/kernels/cpu/softmax.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/numbers.h"

namespace fluidcore::cpu {
namespace {

template <class T>
class Softmax : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Softmax, Types);

TYPED_TEST(Softmax, OfARowIsTheSameAloneAndAmongOthers) {
  using T = TypeParam;
  constexpr std::int64_t kRows = 37;
  for (const std::int64_t columns : {1, 2, 10, 16, 17, 40}) {
    const auto x = numbers<T>(kRows * columns, 1);
    std::vector<T> together(x.size());
    softmax(kRows, columns, x.data(), together.data());
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::vector<T> alone(static_cast<std::size_t>(columns));
      softmax(1, columns, x.data() + row * columns, alone.data());
      double total = 0;
      for (std::int64_t i = 0; i < columns; ++i) {
        total += std::exp(static_cast<double>(x[static_cast<std::size_t>(row * columns + i)]));
      }
      for (std::int64_t i = 0; i < columns; ++i) {
        const auto at = static_cast<std::size_t>(row * columns + i);
        ASSERT_EQ(together[at], alone[static_cast<std::size_t>(i)]) << columns << " " << at;
        ASSERT_NEAR(together[at], std::exp(static_cast<double>(x[at])) / total, 1e-6);
      }
    }
  }
}

TYPED_TEST(Softmax, OfAShortRowWithANaNOrAnInfinityIsThatOfALongOne) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T infinity = std::numeric_limits<T>::infinity();
  for (const std::vector<T>& start :
       {std::vector<T>{1, nan, 2}, {infinity, 1, 2}, {-infinity, -infinity, 0}}) {
    std::vector<T> row = start;
    std::vector<T> found(3);
    softmax(1, 3, row.data(), found.data());
    row.resize(20, -infinity);  // which has no part
    std::vector<T> expected(20);
    softmax(1, 20, row.data(), expected.data());
    for (std::size_t i = 0; i < 3; ++i) {
      if (std::isnan(expected[i])) {
        EXPECT_TRUE(std::isnan(found[i]));
      } else {
        EXPECT_EQ(found[i], expected[i]);
      }
    }
  }
}

}  // namespace
}  // namespace fluidcore::cpu
