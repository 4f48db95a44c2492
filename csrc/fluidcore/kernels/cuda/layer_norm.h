#pragma once

#include <cmath>
#include <cstdint>

#include "fluidcore/kernels/cpu/layer_norm.h"
#include "fluidcore/kernels/cuda/launch.h"

namespace fluidcore::cuda {

// See cpu::LayerNorm; a group for each row.

template <class T>
struct RowMoments {
  T mean;
  T variance;
};

// In two passes over the row, which the second one finds in the cache.
template <class T>
FC_HOST_DEVICE RowMoments<T> row_moments(const Group& group,
                                         const cpu::LayerNorm& norm,
                                         const T* x) {
  const std::int64_t columns = norm.factors * norm.run;
  T mean = 0;
  if (norm.centered) {
    for (std::int64_t i = group.rank(); i < columns; i += group.size()) mean += x[i];
    mean = group.sum(mean) / static_cast<T>(columns);
  }
  T squares = 0;
  for (std::int64_t i = group.rank(); i < columns; i += group.size()) {
    const T distance = x[i] - mean;
    squares += distance * distance;
  }
  return {mean, group.sum(squares) / static_cast<T>(columns)};
}

template <class T>
FC_HOST_DEVICE T inverse_deviation(const cpu::LayerNorm& norm, T variance) {
  return T(1) / std::sqrt(variance + static_cast<T>(norm.epsilon));
}

struct LayerNormRows {
  cpu::LayerNorm norm;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t row,
                                 const T* x,
                                 const T* scale,
                                 const T* bias,
                                 T* y,
                                 T* mean,
                                 T* variance) const {
    const std::int64_t columns = norm.factors * norm.run;
    const T* const from = x + row * columns;
    const RowMoments<T> of_row = row_moments(group, norm, from);
    const T factor = inverse_deviation(norm, of_row.variance);
    const std::int64_t first = row % norm.factor_rows * norm.factors;
    for (std::int64_t i = group.rank(); i < columns; i += group.size()) {
      const std::int64_t at = first + i / norm.run;
      const T normalized = (from[i] - of_row.mean) * factor;
      const T scaled = scale == nullptr ? normalized : normalized * scale[at];
      y[row * columns + i] = bias == nullptr ? scaled : scaled + bias[at];
    }
    if (group.rank() != 0) return;
    if (mean != nullptr) mean[row] = of_row.mean;
    if (variance != nullptr) variance[row] = of_row.variance;
  }
};

// X@GRAD, which may be null, and the mean and the inverse deviation of each row, one after the
// other in `moments`.
struct LayerNormGradRows {
  cpu::LayerNorm norm;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t row,
                                 const T* x,
                                 const T* scale,
                                 const T* dy,
                                 T* moments,
                                 T* dx) const {
    const std::int64_t columns = norm.factors * norm.run;
    const T* const from = x + row * columns;
    const T* const grad = dy + row * columns;
    const RowMoments<T> of_row = row_moments(group, norm, from);
    const T factor = inverse_deviation(norm, of_row.variance);
    if (group.rank() == 0) {
      moments[2 * row] = of_row.mean;
      moments[2 * row + 1] = factor;
    }
    if (dx == nullptr) return;
    const std::int64_t first = row % norm.factor_rows * norm.factors;
    const auto passed = [&](std::int64_t i) {
      return scale == nullptr ? grad[i] : grad[i] * scale[first + i / norm.run];
    };
    T shifted = 0;
    T stretched = 0;
    for (std::int64_t i = group.rank(); i < columns; i += group.size()) {
      const T g = passed(i);
      shifted += g;
      stretched += g * ((from[i] - of_row.mean) * factor);
    }
    shifted = norm.centered ? group.sum(shifted) / static_cast<T>(columns) : T(0);
    stretched = group.sum(stretched) / static_cast<T>(columns);
    for (std::int64_t i = group.rank(); i < columns; i += group.size()) {
      const T normalized = (from[i] - of_row.mean) * factor;
      dx[row * columns + i] = (passed(i) - shifted - normalized * stretched) * factor;
    }
  }
};

// Element i of what Scale@GRAD is the sum of.
template <class T>
struct ScaleGradTerms {
  std::int64_t columns;
  const T* x;
  const T* dy;
  const T* moments;

  FC_HOST_DEVICE T operator()(std::int64_t i) const {
    const std::int64_t row = i / columns;
    return dy[i] * ((x[i] - moments[2 * row]) * moments[2 * row + 1]);
  }
};

}  // namespace fluidcore::cuda
