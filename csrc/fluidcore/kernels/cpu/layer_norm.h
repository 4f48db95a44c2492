#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// Rows of `columns` elements, each normalized by its own mean and (biased) variance; for T float or
// double, with sums in double. Results do not depend on the number of threads.
struct LayerNorm {
  std::int64_t rows;
  std::int64_t columns;  // above 0
  double epsilon;
};

// y = (x - mean) / sqrt(variance + epsilon) scale + bias. Null factors count as 1, null terms as 0;
// y may be x.
template <class T>
void layer_norm(
    const LayerNorm& norm, const T* x, const T* scale, const T* bias, T* y, T* mean, T* variance);

// x_grad, which may be y_grad, or null where only the statistics are wanted: the mean of each row,
// and 1 / sqrt(variance + epsilon).
template <class T>
void layer_norm_x_grad(const LayerNorm& norm,
                       const T* x,
                       const T* scale,
                       const T* y_grad,
                       T* mean,
                       T* inv_std,
                       T* x_grad);

// From these statistics: scale_grad = the sum over the rows of y_grad (x - mean) inv_std, bias_grad
// = the sum of y_grad; either may be null.
template <class T>
void layer_norm_factor_grads(const LayerNorm& norm,
                             const T* x,
                             const T* mean,
                             const T* inv_std,
                             const T* y_grad,
                             T* scale_grad,
                             T* bias_grad);

}  // namespace fluidcore::cpu
