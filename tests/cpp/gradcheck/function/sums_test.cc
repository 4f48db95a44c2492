#include "fluidcore/gradcheck/function/sums.h"

#include <vector>

#include <gtest/gtest.h>

namespace fluidcore::gradcheck {
namespace {

// Integers, whose sums are exact in every order.
std::vector<double> integers(std::int64_t size, std::int64_t factor) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < size; ++i) {
    numbers.push_back(static_cast<double>((i * factor) % 17 - 8));
  }
  return numbers;
}

TEST(Sums, AreThoseOfAllNumbersWhateverTheirNumber) {
  for (const std::int64_t size : {0, 1, 7, 8, 9, 15, 16, 17, 1000}) {
    const std::vector<double> a = integers(size, 3);
    const std::vector<double> b = integers(size, 5);
    const std::vector<double> c = integers(size, 7);
    double squares = 0;
    double change = 0;
    ProductSums products;
    for (std::size_t i = 0; i < a.size(); ++i) {
      squares += a[i] * a[i];
      change += a[i] * (b[i] - c[i]);
      products.sum += a[i] * b[i];
      products.absolute += a[i] * b[i] < 0 ? -a[i] * b[i] : a[i] * b[i];
      products.squares += a[i] * b[i] * a[i] * b[i];
    }
    const ProductSums found = product_sums(a.data(), b.data(), size);
    EXPECT_EQ(sum_of_squares(a.data(), size), squares) << size;
    EXPECT_EQ(weighted_change(a.data(), b.data(), c.data(), size), change) << size;
    EXPECT_EQ(found.sum, products.sum) << size;
    EXPECT_EQ(found.absolute, products.absolute) << size;
    EXPECT_EQ(found.squares, products.squares) << size;
  }
}

}  // namespace
}  // namespace fluidcore::gradcheck
