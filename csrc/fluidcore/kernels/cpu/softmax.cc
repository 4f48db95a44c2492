#include "fluidcore/kernels/cpu/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/rows.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore::cpu {

namespace {

// Rows that would not fill a vector: there a vector has an element of each of some rows.
constexpr std::int64_t kShortRow = 16;
constexpr int kTogether = 16;

// The softmax of `rows` <= kTogether short ones. What is calculated of a row is the same wherever
// it is.
template <class T>
void softmax_of_short_rows(int rows, int columns, const T* x, T* out) {
  int start[kTogether];
  for (int r = 0; r < kTogether; ++r) start[r] = std::min(r, rows - 1) * columns;
  T values[kShortRow][kTogether];
  T greatest[kTogether];
  std::fill_n(greatest, kTogether, -std::numeric_limits<T>::infinity());
  for (int i = 0; i < columns; ++i) {
#pragma omp simd
    for (int r = 0; r < kTogether; ++r) {
      const T value = x[start[r] + i];
      values[i][r] = value;
      greatest[r] = value > greatest[r] ? value : greatest[r];
    }
  }
  T sum[kTogether] = {};
  for (int i = 0; i < columns; ++i) {
#pragma omp simd
    for (int r = 0; r < kTogether; ++r) {
      values[i][r] = math::exp(values[i][r] - greatest[r]);
      sum[r] += values[i][r];
    }
  }
  T factor[kTogether];
#pragma omp simd
  for (int r = 0; r < kTogether; ++r) factor[r] = T(1) / sum[r];
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < columns; ++i) out[r * columns + i] = values[i][r] * factor[r];
  }
}

}  // namespace

template <class T>
void softmax(std::int64_t rows, std::int64_t columns, const T* x, T* out) {
  if (columns <= kShortRow) {
    const std::int64_t tiles = divide_up(rows, std::int64_t{kTogether});
    return for_rows(tiles, columns * kTogether, [=](std::int64_t tile) {
      const std::int64_t first = tile * kTogether;
      const auto count = static_cast<int>(std::min<std::int64_t>(rows - first, kTogether));
      softmax_of_short_rows(count, static_cast<int>(columns), x + first * columns,
                            out + first * columns);
    });
  }
  for_rows(rows, columns, [=](std::int64_t row) {
    const T* from = x + row * columns;
    T* to = out + row * columns;
    T greatest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : greatest)
    for (std::int64_t i = 0; i < columns; ++i) greatest = from[i] > greatest ? from[i] : greatest;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < columns; ++i) {
      const T value = math::exp(from[i] - greatest);
      to[i] = value;
      sum += value;
    }
    const T factor = T(1) / sum;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) to[i] *= factor;
  });
}

template <class T>
void softmax_grad(
    std::int64_t rows, std::int64_t columns, const T* out, const T* out_grad, T* x_grad) {
  for_rows(rows, columns, [=](std::int64_t row) {
    const T* value = out + row * columns;
    const T* grad = out_grad + row * columns;
    T* to = x_grad + row * columns;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < columns; ++i) sum += value[i] * grad[i];
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) to[i] = (grad[i] - sum) * value[i];
  });
}

template <class T>
void log_softmax(std::int64_t rows, std::int64_t columns, const T* x, T* out) {
  for_rows(rows, columns, [=](std::int64_t row) {
    const T* from = x + row * columns;
    T* to = out + row * columns;
    T greatest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : greatest)
    for (std::int64_t i = 0; i < columns; ++i) greatest = from[i] > greatest ? from[i] : greatest;
    const auto log_sum = static_cast<T>(math::log(
        sum_of_row(columns, [=](std::int64_t i) { return math::exp(from[i] - greatest); })));
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) to[i] = (from[i] - greatest) - log_sum;
  });
}

template <class T>
void log_softmax_grad(
    std::int64_t rows, std::int64_t columns, const T* out, const T* out_grad, T* x_grad) {
  for_rows(rows, columns, [=](std::int64_t row) {
    const T* value = out + row * columns;
    const T* grad = out_grad + row * columns;
    T* to = x_grad + row * columns;
    const auto sum = static_cast<T>(sum_of_row(columns, [=](std::int64_t i) { return grad[i]; }));
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) to[i] = grad[i] - math::exp(value[i]) * sum;
  });
}

template void softmax<float>(std::int64_t, std::int64_t, const float*, float*);
template void softmax<double>(std::int64_t, std::int64_t, const double*, double*);
template void softmax_grad<float>(std::int64_t, std::int64_t, const float*, const float*, float*);
template void softmax_grad<double>(
    std::int64_t, std::int64_t, const double*, const double*, double*);

template void log_softmax<float>(std::int64_t, std::int64_t, const float*, float*);
template void log_softmax<double>(std::int64_t, std::int64_t, const double*, double*);
template void log_softmax_grad<float>(
    std::int64_t, std::int64_t, const float*, const float*, float*);
template void log_softmax_grad<double>(
    std::int64_t, std::int64_t, const double*, const double*, double*);

}  // namespace fluidcore::cpu
