#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// Over rows of `columns` neighbours, for T float or double.

// out = exp(x) / sum of exp(x) in its row, without overflow. `out` may be `x`.
template <class T>
void softmax(std::int64_t rows, std::int64_t columns, const T* x, T* out);

// x_grad = (out_grad - sum of out out_grad in its row) out. `x_grad` may be `out` or `out_grad`.
template <class T>
void softmax_grad(
    std::int64_t rows, std::int64_t columns, const T* out, const T* out_grad, T* x_grad);

// out = x - log(sum of exp(x)), row by row, without overflow; it may be x.
template <class T>
void log_softmax(std::int64_t rows, std::int64_t columns, const T* x, T* out);

// x_grad = out_grad - exp(out) (sum of out_grad), row by row; it may be out or out_grad.
template <class T>
void log_softmax_grad(
    std::int64_t rows, std::int64_t columns, const T* out, const T* out_grad, T* x_grad);

}  // namespace fluidcore::cpu
