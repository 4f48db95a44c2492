#include "fluidcore/kernels/cpu/layer_norm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "fluidcore/kernels/cpu/rows.h"

namespace fluidcore::cpu {

namespace {

struct Moments {
  double mean;
  double variance;
};

template <class T>
Moments moments(std::int64_t size, const T* x) {
  const auto count = static_cast<double>(size);
  const double mean = sum_of_row(size, [=](std::int64_t i) { return x[i]; }) / count;
  const double spread = sum_of_row(size, [=](std::int64_t i) {
    const double deviation = static_cast<double>(x[i]) - mean;
    return deviation * deviation;
  });
  return {mean, spread / count};
}

}  // namespace

template <class T>
void layer_norm(
    const LayerNorm& norm, const T* x, const T* scale, const T* bias, T* y, T* mean, T* variance) {
  for_rows(norm.rows, norm.columns, [=](std::int64_t row) {
    const T* from = x + row * norm.columns;
    T* to = y + row * norm.columns;
    const Moments of_row = moments(norm.columns, from);
    mean[row] = static_cast<T>(of_row.mean);
    variance[row] = static_cast<T>(of_row.variance);
    const auto factor = static_cast<T>(1.0 / std::sqrt(of_row.variance + norm.epsilon));
    const T middle = mean[row];
    // What rounding took from the mean.
    const auto rest = static_cast<T>(of_row.mean - static_cast<double>(middle));
#pragma omp simd
    for (std::int64_t i = 0; i < norm.columns; ++i) {
      const T normalized = ((from[i] - middle) - rest) * factor;
      to[i] =
          normalized * (scale == nullptr ? T(1) : scale[i]) + (bias == nullptr ? T(0) : bias[i]);
    }
  });
}

template <class T>
void layer_norm_x_grad(const LayerNorm& norm,
                       const T* x,
                       const T* scale,
                       const T* y_grad,
                       T* mean,
                       T* inv_std,
                       T* x_grad) {
  const auto count = static_cast<double>(norm.columns);
  for_rows(norm.rows, norm.columns, [=](std::int64_t row) {
    const T* from = x + row * norm.columns;
    const Moments of_row = moments(norm.columns, from);
    const T middle = mean[row] = static_cast<T>(of_row.mean);
    const T factor = inv_std[row] = static_cast<T>(1.0 / std::sqrt(of_row.variance + norm.epsilon));
    if (x_grad == nullptr) return;
    const T* incoming = y_grad + row * norm.columns;
    T* to = x_grad + row * norm.columns;
    const auto grad = [=](std::int64_t i) {
      return incoming[i] * (scale == nullptr ? T(1) : scale[i]);
    };
    const auto shift = static_cast<T>(sum_of_row(norm.columns, grad) / count);
    const auto stretch = static_cast<T>(
        sum_of_row(norm.columns,
                   [=](std::int64_t i) { return grad(i) * ((from[i] - middle) * factor); }) /
        count);
#pragma omp simd
    for (std::int64_t i = 0; i < norm.columns; ++i) {
      to[i] = factor * (grad(i) - shift - (from[i] - middle) * factor * stretch);
    }
  });
}

template <class T>
void layer_norm_factor_grads(const LayerNorm& norm,
                             const T* x,
                             const T* mean,
                             const T* inv_std,
                             const T* y_grad,
                             T* scale_grad,
                             T* bias_grad) {
  constexpr std::int64_t kBlock = 64;  // columns that are summed side by side
  for_rows((norm.columns + kBlock - 1) / kBlock, norm.rows * kBlock, [=](std::int64_t block) {
    const std::int64_t first = block * kBlock;
    const std::int64_t count = std::min(kBlock, norm.columns - first);
    std::array<double, kBlock> stretched{};
    std::array<double, kBlock> shifted{};
    for (std::int64_t row = 0; row < norm.rows; ++row) {
      const T* from = x + row * norm.columns + first;
      const T* incoming = y_grad + row * norm.columns + first;
      const T middle = mean[row];
      const T factor = inv_std[row];
      double* const stretch = stretched.data();
      double* const shift = shifted.data();
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        stretch[i] += static_cast<double>(incoming[i] * ((from[i] - middle) * factor));
        shift[i] += static_cast<double>(incoming[i]);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const auto j = static_cast<std::size_t>(i);
      if (scale_grad != nullptr) scale_grad[first + i] = static_cast<T>(stretched[j]);
      if (bias_grad != nullptr) bias_grad[first + i] = static_cast<T>(shifted[j]);
    }
  });
}

template void layer_norm<float>(
    const LayerNorm&, const float*, const float*, const float*, float*, float*, float*);
template void layer_norm<double>(
    const LayerNorm&, const double*, const double*, const double*, double*, double*, double*);
template void layer_norm_x_grad<float>(
    const LayerNorm&, const float*, const float*, const float*, float*, float*, float*);
template void layer_norm_x_grad<double>(
    const LayerNorm&, const double*, const double*, const double*, double*, double*, double*);
template void layer_norm_factor_grads<float>(
    const LayerNorm&, const float*, const float*, const float*, const float*, float*, float*);
template void layer_norm_factor_grads<double>(
    const LayerNorm&, const double*, const double*, const double*, const double*, double*, double*);

}  // namespace fluidcore::cpu
