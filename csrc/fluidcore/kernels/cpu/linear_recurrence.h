#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// Sequences along the middle dimension of tensors [outer, count, inner].
struct Sequences {
  std::int64_t outer;
  std::int64_t count;
  std::int64_t inner;
  bool reverse;  // from the last element to the first
};

// out[0] = y[0]; out[i] = x[i] * out[i - 1] + y[i]. In float64, rounded where it is written. `out`
// may be x or y. For float and double.
template <class T>
void linear_recurrence(const Sequences& sequences, const T* x, const T* y, T* out);

// The gradients of x and y from that of out, as precise. Either may be null; neither may be an
// input.
template <class T>
void linear_recurrence_grad(
    const Sequences& sequences, const T* x, const T* out, const T* dout, T* dx, T* dy);

// The gradient of out[i] = x[0] ... x[i], or of x[0] ... x[i - 1] if `exclusive`, from that of out.
// Divides by nothing. `dx` may be dout.
template <class T>
void cumprod_grad(
    const Sequences& sequences, bool exclusive, const T* x, const T* out, const T* dout, T* dx);

// The gradient of the product of each sequence, from `dout` [outer, inner]: what all elements but
// one give together, in float64 and without dividing. `before` is memory for as many numbers as x
// has; `dx` may be x.
template <class T>
void product_grad(const Sequences& sequences, const T* x, const T* dout, double* before, T* dx);

}  // namespace fluidcore::cpu
