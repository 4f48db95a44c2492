#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// Updates of a parameter of `size` elements, each in one pass over the memory, for T float or
// double. An output may be the memory of the input it is made from.

// param_out = param - rate grad
template <class T>
void sgd(std::int64_t size, T rate, const T* param, const T* grad, T* param_out);

// velocity_out = mu velocity + grad; param_out = param - rate velocity_out, or, with nesterov,
// param - rate (grad + mu velocity_out).
template <class T>
void momentum(std::int64_t size,
              T rate,
              T mu,
              bool nesterov,
              const T* param,
              const T* grad,
              const T* velocity,
              T* param_out,
              T* velocity_out);

// `rate` is that of this step: the learning rate corrected for the bias of the moments.
template <class T>
struct AdamFactors {
  T rate;
  T beta1;
  T beta2;
  T epsilon;
};

// moment1_out = beta1 moment1 + (1 - beta1) grad, moment2_out = beta2 moment2 + (1 - beta2) grad^2,
// param_out = param - rate moment1_out / (sqrt(moment2_out) + epsilon).
template <class T>
void adam(std::int64_t size,
          const AdamFactors<T>& factors,
          const T* param,
          const T* grad,
          const T* moment1,
          const T* moment2,
          T* param_out,
          T* moment1_out,
          T* moment2_out);

}  // namespace fluidcore::cpu
