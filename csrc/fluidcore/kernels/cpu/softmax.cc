#include "fluidcore/kernels/cpu/softmax.h"

#include <cmath>
#include <limits>

#include "fluidcore/kernels/cpu/rows.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore::cpu {

template <class T>
void softmax(std::int64_t rows, std::int64_t columns, const T* x, T* out) {
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
