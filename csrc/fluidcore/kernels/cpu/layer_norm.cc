#include "fluidcore/kernels/cpu/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/kernels/cpu/rows.h"

namespace fluidcore::cpu {

namespace {

// Rows whose gradients of factors are added up before those of others.
constexpr std::int64_t kSums = 32;

struct Moments {
  double mean;
  double variance;
};

// In one pass, from the deviations of the first element. It is at most sqrt(count) standard
// deviations from the mean, so that no more than log2(count) bits of a double cancel.
template <class T>
Moments moments(const LayerNorm& norm, const T* x) {
  const auto count = static_cast<double>(norm.columns());
  const double first = norm.centered && norm.columns() > 0 ? static_cast<double>(x[0]) : 0.0;
  double sum = 0;
  double squares = 0;
#pragma omp simd reduction(+ : sum, squares)
  for (std::int64_t i = 0; i < norm.columns(); ++i) {
    const double deviation = static_cast<double>(x[i]) - first;
    sum += deviation;
    squares += deviation * deviation;
  }
  const double shift = norm.centered ? sum / count : 0.0;
  return {first + shift, squares / count - shift * shift};
}

template <class T>
struct Row {
  const T* x;
  const T* y_grad;
  T middle;
  T factor;

  T normalized(std::int64_t i) const { return (x[i] - middle) * factor; }
};

// What would shift or stretch a whole row is undone by its statistics.
struct Undone {
  double shift = 0;
  double stretch = 0;
};

// How many sums there are for each factor.
std::int64_t sums_of(const LayerNorm& norm) {
  return norm.run > 1 || norm.factor_rows > 1 ? norm.rows / norm.factor_rows
                                              : std::min(norm.rows, kSums);
}

// Of a row whose elements have a factor each: adds to the sums, which are in memory.
template <class T>
Undone add_elements(
    const LayerNorm& norm, const Row<T>& row, const T* scale, double* stretched, double* shifted) {
  Undone undone;
  double shift = 0;
  double stretch = 0;
#pragma omp simd reduction(+ : shift, stretch)
  for (std::int64_t i = 0; i < norm.factors; ++i) {
    const T grad = row.y_grad[i] * (scale == nullptr ? T(1) : scale[i]);
    shift += static_cast<double>(grad);
    stretch += static_cast<double>(grad * row.normalized(i));
  }
  undone.shift = shift;
  undone.stretch = stretch;
  if (stretched == nullptr) return undone;
#pragma omp simd
  for (std::int64_t i = 0; i < norm.factors; ++i) {
    stretched[i] += static_cast<double>(row.y_grad[i] * row.normalized(i));
    shifted[i] += static_cast<double>(row.y_grad[i]);
  }
  return undone;
}

// Of a row whose factors have a run of elements each.
template <class T>
Undone add_runs(
    const LayerNorm& norm, const Row<T>& row, const T* scale, double* stretched, double* shifted) {
  Undone undone;
  for (std::int64_t c = 0; c < norm.factors; ++c) {
    double shift = 0;
    double stretch = 0;
#pragma omp simd reduction(+ : shift, stretch)
    for (std::int64_t i = c * norm.run; i < (c + 1) * norm.run; ++i) {
      shift += static_cast<double>(row.y_grad[i]);
      stretch += static_cast<double>(row.y_grad[i] * row.normalized(i));
    }
    const double factor = scale == nullptr ? 1.0 : static_cast<double>(scale[c]);
    undone.shift += factor * shift;
    undone.stretch += factor * stretch;
    if (stretched == nullptr) continue;
    stretched[c] += stretch;
    shifted[c] += shift;
  }
  return undone;
}

// Adds up the `sums` numbers for each factor.
template <class T>
void add_up(std::int64_t sums, std::int64_t factors, const double* from, T* to) {
  if (to == nullptr) return;
  for_rows(factors, sums, [=](std::int64_t factor) {
    double total = 0;
    for (std::int64_t i = 0; i < sums; ++i) total += from[i * factors + factor];
    to[factor] = static_cast<T>(total);
  });
}

}  // namespace

template <class T>
void layer_norm(
    const LayerNorm& norm, const T* x, const T* scale, const T* bias, T* y, T* mean, T* variance) {
  for_rows(norm.rows, norm.columns(), [=](std::int64_t row) {
    const T* from = x + row * norm.columns();
    T* to = y + row * norm.columns();
    const Moments of_row = moments(norm, from);
    const auto factor = static_cast<T>(1.0 / std::sqrt(of_row.variance + norm.epsilon));
    const auto middle = static_cast<T>(of_row.mean);
    // What rounding took from the mean.
    const auto rest = static_cast<T>(of_row.mean - static_cast<double>(middle));
    if (mean != nullptr) mean[row] = middle;
    if (variance != nullptr) variance[row] = static_cast<T>(of_row.variance);
    const std::int64_t first = row % norm.factor_rows * norm.factors;
    const T* factors = scale == nullptr ? nullptr : scale + first;
    const T* terms = bias == nullptr ? nullptr : bias + first;
    if (norm.run == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < norm.factors; ++i) {
        const T normalized = ((from[i] - middle) - rest) * factor;
        to[i] = normalized * (factors == nullptr ? T(1) : factors[i]) +
                (terms == nullptr ? T(0) : terms[i]);
      }
      return;
    }
    for (std::int64_t c = 0; c < norm.factors; ++c) {
      const T of_run = factors == nullptr ? T(1) : factors[c];
      const T term = terms == nullptr ? T(0) : terms[c];
#pragma omp simd
      for (std::int64_t i = c * norm.run; i < (c + 1) * norm.run; ++i) {
        to[i] = ((from[i] - middle) - rest) * factor * of_run + term;
      }
    }
  });
}

std::int64_t layer_norm_scratch(const LayerNorm& norm) {
  return 2 * sums_of(norm) * norm.factor_rows * norm.factors;
}

template <class T>
void layer_norm_grad(const LayerNorm& norm,
                     const T* x,
                     const T* scale,
                     const T* y_grad,
                     double* scratch,
                     T* x_grad,
                     T* scale_grad,
                     T* bias_grad) {
  const auto count = static_cast<double>(norm.columns());
  const bool sums_up = scale_grad != nullptr || bias_grad != nullptr;
  const std::int64_t all_factors = norm.factor_rows * norm.factors;
  const std::int64_t sums = sums_of(norm);
  // Rows that add to the same sums belong to one block.
  const std::int64_t blocks = sums_up ? sums * norm.factor_rows : norm.rows;
  const std::int64_t block_rows = norm.rows / std::max<std::int64_t>(blocks, 1) + 1;
  const auto gradients_of_row = [=](std::int64_t r, double* stretched, double* shifted) {
    const T* const from = x + r * norm.columns();
    const Moments of_row = moments(norm, from);
    const Row<T> row{from, y_grad + r * norm.columns(), static_cast<T>(of_row.mean),
                     static_cast<T>(1.0 / std::sqrt(of_row.variance + norm.epsilon))};
    const T* factors = scale == nullptr ? nullptr : scale + r % norm.factor_rows * norm.factors;
    const Undone undone = norm.run == 1 ? add_elements(norm, row, factors, stretched, shifted)
                                        : add_runs(norm, row, factors, stretched, shifted);
    if (x_grad == nullptr) return;
    const auto shift = norm.centered ? static_cast<T>(undone.shift / count) : T(0);
    const auto stretch = static_cast<T>(undone.stretch / count);
    T* to = x_grad + r * norm.columns();
    if (norm.run == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < norm.factors; ++i) {
        const T grad = row.y_grad[i] * (factors == nullptr ? T(1) : factors[i]);
        to[i] = row.factor * (grad - shift - row.normalized(i) * stretch);
      }
      return;
    }
    for (std::int64_t c = 0; c < norm.factors; ++c) {
      const T of_run = factors == nullptr ? T(1) : factors[c];
#pragma omp simd
      for (std::int64_t i = c * norm.run; i < (c + 1) * norm.run; ++i) {
        to[i] = row.factor * (row.y_grad[i] * of_run - shift - row.normalized(i) * stretch);
      }
    }
  };
  for_rows(blocks, norm.columns() * block_rows, [=](std::int64_t block) {
    double* stretched = nullptr;
    double* shifted = nullptr;
    if (sums_up) {
      stretched = scratch + block * norm.factors;
      shifted = stretched + sums * all_factors;
      std::fill_n(stretched, norm.factors, 0.0);
      std::fill_n(shifted, norm.factors, 0.0);
    }
    const std::int64_t last = norm.rows * (block + 1) / blocks;
    for (std::int64_t row = norm.rows * block / blocks; row < last; ++row) {
      gradients_of_row(row, stretched, shifted);
    }
  });
  add_up(sums, all_factors, scratch, scale_grad);
  add_up(sums, all_factors, scratch + sums * all_factors, bias_grad);
}

template void layer_norm<float>(
    const LayerNorm&, const float*, const float*, const float*, float*, float*, float*);
template void layer_norm<double>(
    const LayerNorm&, const double*, const double*, const double*, double*, double*, double*);
template void layer_norm_grad<float>(
    const LayerNorm&, const float*, const float*, const float*, double*, float*, float*, float*);
template void layer_norm_grad<double>(const LayerNorm&,
                                      const double*,
                                      const double*,
                                      const double*,
                                      double*,
                                      double*,
                                      double*,
                                      double*);

}  // namespace fluidcore::cpu
