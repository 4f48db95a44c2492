#pragma once

#include <cstdint>

namespace fluidcore::gradcheck {

// Sums over `size` numbers of each array, added as eight sums side by side: a processor adds
// several at a time, with the same result whatever the length of its vectors.

double sum_of_squares(const double* a, std::int64_t size);

// Of the products p = a b.
struct ProductSums {
  double sum = 0;
  double absolute = 0;  // of |p|
  double squares = 0;   // of p²
};
ProductSums product_sums(const double* a, const double* b, std::int64_t size);

// Of v (y - before).
double weighted_change(const double* v, const double* y, const double* before, std::int64_t size);

}  // namespace fluidcore::gradcheck
