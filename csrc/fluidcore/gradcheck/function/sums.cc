#include "fluidcore/gradcheck/function/sums.h"

#include <cmath>

namespace fluidcore::gradcheck {

namespace {

template <class Term>
double sum_of(std::int64_t size, const Term& term) {
  constexpr std::int64_t kSums = 8;
  double sums[kSums] = {};
  const std::int64_t whole = size - size % kSums;
  for (std::int64_t i = 0; i < whole; i += kSums) {
    for (std::int64_t j = 0; j < kSums; ++j) sums[j] += term(i + j);
  }
  for (std::int64_t i = whole; i < size; ++i) sums[i - whole] += term(i);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

double sum_of_squares(const double* a, std::int64_t size) {
  return sum_of(size, [&](std::int64_t i) { return a[i] * a[i]; });
}

ProductSums product_sums(const double* a, const double* b, std::int64_t size) {
  return {sum_of(size, [&](std::int64_t i) { return a[i] * b[i]; }),
          sum_of(size, [&](std::int64_t i) { return std::abs(a[i] * b[i]); }),
          sum_of(size, [&](std::int64_t i) { return a[i] * b[i] * a[i] * b[i]; })};
}

double weighted_change(const double* v, const double* y, const double* before, std::int64_t size) {
  return sum_of(size, [&](std::int64_t i) { return v[i] * (y[i] - before[i]); });
}

}  // namespace fluidcore::gradcheck
