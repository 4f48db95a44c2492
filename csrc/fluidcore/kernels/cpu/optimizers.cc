#include "fluidcore/kernels/cpu/optimizers.h"

#include <cmath>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

namespace {

// Calls f(i) for i in [0, size), vectorized; parts on several threads.
template <class F>
void for_elements(std::int64_t size, const F& f) {
  constexpr std::int64_t kThreadWork = 32768;
  const Isa isa = cpu_isa();
  parallel_for(size, kThreadWork, [&](std::int64_t begin, std::int64_t end) {
    run_on(isa, [=] {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) f(i);
    });
  });
}

}  // namespace

template <class T>
void sgd(std::int64_t size, T rate, const T* param, const T* grad, T* param_out) {
  for_elements(size, [=](std::int64_t i) { param_out[i] = param[i] - rate * grad[i]; });
}

template <class T>
void momentum(std::int64_t size,
              T rate,
              T mu,
              bool nesterov,
              const T* param,
              const T* grad,
              const T* velocity,
              T* param_out,
              T* velocity_out) {
  if (nesterov) {
    for_elements(size, [=](std::int64_t i) {
      const T v = mu * velocity[i] + grad[i];
      param_out[i] = param[i] - rate * (grad[i] + mu * v);
      velocity_out[i] = v;
    });
  } else {
    for_elements(size, [=](std::int64_t i) {
      const T v = mu * velocity[i] + grad[i];
      param_out[i] = param[i] - rate * v;
      velocity_out[i] = v;
    });
  }
}

template <class T>
void adam(std::int64_t size,
          const AdamFactors<T>& factors,
          const T* param,
          const T* grad,
          const T* moment1,
          const T* moment2,
          T* param_out,
          T* moment1_out,
          T* moment2_out) {
  for_elements(size, [=](std::int64_t i) {
    const T g = grad[i];
    const T m1 = factors.beta1 * moment1[i] + (T(1) - factors.beta1) * g;
    const T m2 = factors.beta2 * moment2[i] + (T(1) - factors.beta2) * g * g;
    param_out[i] = param[i] - factors.rate * m1 / (std::sqrt(m2) + factors.epsilon);
    moment1_out[i] = m1;
    moment2_out[i] = m2;
  });
}

template void sgd<float>(std::int64_t, float, const float*, const float*, float*);
template void sgd<double>(std::int64_t, double, const double*, const double*, double*);
template void momentum<float>(
    std::int64_t, float, float, bool, const float*, const float*, const float*, float*, float*);
template void momentum<double>(std::int64_t,
                               double,
                               double,
                               bool,
                               const double*,
                               const double*,
                               const double*,
                               double*,
                               double*);
template void adam<float>(std::int64_t,
                          const AdamFactors<float>&,
                          const float*,
                          const float*,
                          const float*,
                          const float*,
                          float*,
                          float*,
                          float*);
template void adam<double>(std::int64_t,
                           const AdamFactors<double>&,
                           const double*,
                           const double*,
                           const double*,
                           const double*,
                           double*,
                           double*,
                           double*);

}  // namespace fluidcore::cpu
