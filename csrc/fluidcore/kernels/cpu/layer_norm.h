#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// Rows of `factors * run` elements, each normalized by its own statistics; for T float or double,
// with sums in double. Results do not depend on the number of threads.
//
// `run` neighbours share a factor and a term. Row r has those from number (r mod factor_rows)
// factors on: a group of channels those of its channels, in every example.
struct LayerNorm {
  std::int64_t rows;
  std::int64_t factors;
  double epsilon;
  bool centered = true;  // else the mean counts as 0, and the variance is the mean of the squares
  std::int64_t run = 1;
  std::int64_t factor_rows = 1;

  std::int64_t columns() const { return factors * run; }
};

// y = (x - mean) / sqrt(variance + epsilon) scale + bias, with the biased variance. Null factors
// count as 1, null terms as 0; y may be x; the statistics of the rows may be null.
template <class T>
void layer_norm(
    const LayerNorm& norm, const T* x, const T* scale, const T* bias, T* y, T* mean, T* variance);

// The gradients of layer_norm(), each of which may be null; x_grad may be y_grad. `scratch` holds
// layer_norm_scratch(norm) numbers.
template <class T>
void layer_norm_grad(const LayerNorm& norm,
                     const T* x,
                     const T* scale,
                     const T* y_grad,
                     double* scratch,
                     T* x_grad,
                     T* scale_grad,
                     T* bias_grad);

std::int64_t layer_norm_scratch(const LayerNorm& norm);

}  // namespace fluidcore::cpu
