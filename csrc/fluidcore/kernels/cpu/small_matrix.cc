#include "fluidcore/kernels/cpu/small_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fluidcore::cpu {

namespace {

// to -= factor * from
void subtract(std::int64_t size, double factor, const double* from, double* to) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) to[i] -= factor * from[i];
}

}  // namespace

bool cholesky(std::int64_t n, double* a) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) a[i * n + j] = 0.5 * (a[i * n + j] + a[j * n + i]);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double* const row = a + i * n;
    for (std::int64_t j = 0; j <= i; ++j) {
      const double* const other = a + j * n;
      double sum = row[j];
      for (std::int64_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      if (j < i) {
        row[j] = sum / other[j];
      } else {
        if (!(sum > 0.0)) return false;
        row[i] = std::sqrt(sum);
      }
    }
    std::fill(row + i + 1, row + n, 0.0);
  }
  return true;
}

void solve_triangular(
    std::int64_t n, std::int64_t k, const Triangular& form, const double* a, double* b) {
  const bool forward = form.upper == form.transpose;  // the first unknown stands alone
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = forward ? step : n - 1 - step;
    double* const row = b + i * k;
    for (std::int64_t done = 0; done < step; ++done) {
      const std::int64_t j = forward ? done : n - 1 - done;
      subtract(k, form.transpose ? a[j * n + i] : a[i * n + j], b + j * k, row);
    }
    if (form.unit) continue;
    const double pivot = a[i * n + i];
    for (std::int64_t c = 0; c < k; ++c) row[c] /= pivot;
  }
}

int lu(std::int64_t n, double* a, std::int64_t* rows) {
  std::iota(rows, rows + n, std::int64_t{0});
  int sign = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[best * n + k])) best = i;
    }
    if (best != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
      std::swap(rows[k], rows[best]);
      sign = -sign;
    }
    if (a[k * n + k] == 0.0) continue;
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] /= a[k * n + k];
      subtract(n - k - 1, factor, a + k * n + k + 1, a + i * n + k + 1);
    }
  }
  return sign;
}

}  // namespace fluidcore::cpu
