#include "fluidcore/kernels/cpu/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/rows.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore::cpu {

namespace {

// Losses stay finite, so that one impossible sample does not turn the sum of all into infinity.
template <class T>
T tolerable(T value) {
  constexpr T kLarge = T(1e20);
  return value == std::numeric_limits<T>::infinity()    ? kLarge
         : value == -std::numeric_limits<T>::infinity() ? -kLarge
                                                        : value;
}

template <class T>
T greatest(std::int64_t size, const T* values) {
  T best = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : best)
  for (std::int64_t i = 0; i < size; ++i) best = values[i] > best ? values[i] : best;
  return best;
}

// log of the sum of exp(logits). The greatest probability is exp(greatest logit) / sum of exp.
template <class T>
T log_sum_exp(std::int64_t columns, const T* logits, const T* softmax) {
  T logit = -std::numeric_limits<T>::infinity();
  T probability = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : logit, probability)
  for (std::int64_t i = 0; i < columns; ++i) {
    logit = logits[i] > logit ? logits[i] : logit;
    probability = softmax[i] > probability ? softmax[i] : probability;
  }
  return logit - math::log(probability);
}

// As rows.h has it, without a copy of the loop for each set of instructions.
template <class F>
void for_plain_rows(std::int64_t rows, std::int64_t columns, const F& f) {
  constexpr std::int64_t kThreadWork = 16384;  // elements
  parallel_for(rows, kThreadWork / std::max<std::int64_t>(columns, 1) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) f(row);
               });
}

}  // namespace

template <class T>
void cross_entropy(std::int64_t rows, std::int64_t columns, const T* x, RowIndex label, T* loss) {
  for_plain_rows(rows, 1, [=](std::int64_t row) {
    loss[row] = label[row] < 0 ? T(0) : -tolerable(math::log(x[row * columns + label[row]]));
  });
}

template <class T>
void cross_entropy_grad(std::int64_t rows,
                        std::int64_t columns,
                        const T* x,
                        RowIndex label,
                        const T* loss_grad,
                        T* x_grad) {
  for_plain_rows(rows, columns, [=](std::int64_t row) {
    std::fill_n(x_grad + row * columns, columns, T(0));
    if (label[row] < 0) return;
    const std::int64_t at = row * columns + label[row];
    x_grad[at] = tolerable(-loss_grad[row] / x[at]);
  });
}

template <class T>
void soft_cross_entropy(
    std::int64_t rows, std::int64_t columns, const T* x, const T* label, T* loss) {
  for_plain_rows(rows, columns, [=](std::int64_t row) {
    T sum = 0;
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i)
      sum += label[i] * tolerable(math::log(x[i]));
    loss[row] = -sum;
  });
}

template <class T>
void soft_cross_entropy_grad(std::int64_t rows,
                             std::int64_t columns,
                             const T* x,
                             const T* label,
                             const T* loss_grad,
                             T* x_grad) {
  for_plain_rows(rows, columns, [=](std::int64_t row) {
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      // A class that cannot be has no part in the loss, also where its probability is 0.
      x_grad[i] = label[i] == T(0) ? T(0) : tolerable(-loss_grad[row] * label[i] / x[i]);
    }
  });
}

template <class T>
void soft_cross_entropy_label_grad(
    std::int64_t rows, std::int64_t columns, const T* x, const T* loss_grad, T* label_grad) {
  for_plain_rows(rows, columns, [=](std::int64_t row) {
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      label_grad[i] = -loss_grad[row] * tolerable(math::log(x[i]));
    }
  });
}

template <class T>
void softmax_cross_entropy(std::int64_t rows,
                           std::int64_t columns,
                           const T* logits,
                           const T* softmax,
                           RowIndex label,
                           T* loss) {
  for_rows(rows, columns, [=](std::int64_t row) {
    const T* from = logits + row * columns;
    loss[row] =
        label[row] < 0
            ? T(0)
            : tolerable(log_sum_exp(columns, from, softmax + row * columns) - from[label[row]]);
  });
}

template <class T>
void softmax_cross_entropy_grad(std::int64_t rows,
                                std::int64_t columns,
                                const T* softmax,
                                RowIndex label,
                                const T* loss_grad,
                                T* logits_grad) {
  for_plain_rows(rows, columns, [=](std::int64_t row) {
    const T* value = softmax + row * columns;
    T* to = logits_grad + row * columns;
    if (label[row] < 0) {
      std::fill_n(to, columns, T(0));
      return;
    }
    const T grad = loss_grad[row];
    const T at_label = (value[label[row]] - T(1)) * grad;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) to[i] = value[i] * grad;
    to[label[row]] = at_label;
  });
}

template <class T>
void soft_softmax_cross_entropy(std::int64_t rows,
                                std::int64_t columns,
                                const T* logits,
                                const T* softmax,
                                const T* label,
                                T* loss) {
  for_plain_rows(rows, columns, [=](std::int64_t row) {
    const T normalizer = log_sum_exp(columns, logits + row * columns, softmax + row * columns);
    T sum = 0;
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      sum += label[i] == T(0) ? T(0) : label[i] * (normalizer - logits[i]);
    }
    loss[row] = tolerable(sum);
  });
}

template <class T>
void soft_softmax_cross_entropy_grad(std::int64_t rows,
                                     std::int64_t columns,
                                     const T* softmax,
                                     const T* label,
                                     const T* loss_grad,
                                     T* logits_grad) {
  for_plain_rows(rows, columns, [=](std::int64_t row) {
    const std::int64_t start = row * columns;
    // The labels of a row need not add up to 1.
    T total = 0;
    for (std::int64_t i = 0; i < columns; ++i) total += label[start + i];
    const T grad = loss_grad[row];
#pragma omp simd
    for (std::int64_t i = start; i < start + columns; ++i)
      logits_grad[i] = (softmax[i] * total - label[i]) * grad;
  });
}

template <class T>
void soft_softmax_cross_entropy_label_grad(
    std::int64_t rows, std::int64_t columns, const T* logits, const T* loss_grad, T* label_grad) {
  for_plain_rows(rows, columns, [=](std::int64_t row) {
    const T* from = logits + row * columns;
    T* to = label_grad + row * columns;
    const T top = greatest(columns, from);
    T sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) sum += math::exp(from[i] - top);
    const T normalizer = top + math::log(sum);
    for (std::int64_t i = 0; i < columns; ++i) {
      to[i] = loss_grad[row] * tolerable(normalizer - from[i]);
    }
  });
}

template void cross_entropy<float>(std::int64_t, std::int64_t, const float*, RowIndex, float*);
template void cross_entropy_grad<float>(
    std::int64_t, std::int64_t, const float*, RowIndex, const float*, float*);
template void soft_cross_entropy<float>(
    std::int64_t, std::int64_t, const float*, const float*, float*);
template void soft_cross_entropy_grad<float>(
    std::int64_t, std::int64_t, const float*, const float*, const float*, float*);
template void soft_cross_entropy_label_grad<float>(
    std::int64_t, std::int64_t, const float*, const float*, float*);
template void softmax_cross_entropy<float>(
    std::int64_t, std::int64_t, const float*, const float*, RowIndex, float*);
template void softmax_cross_entropy_grad<float>(
    std::int64_t, std::int64_t, const float*, RowIndex, const float*, float*);
template void soft_softmax_cross_entropy<float>(
    std::int64_t, std::int64_t, const float*, const float*, const float*, float*);
template void soft_softmax_cross_entropy_grad<float>(
    std::int64_t, std::int64_t, const float*, const float*, const float*, float*);
template void soft_softmax_cross_entropy_label_grad<float>(
    std::int64_t, std::int64_t, const float*, const float*, float*);
template void cross_entropy<double>(std::int64_t, std::int64_t, const double*, RowIndex, double*);
template void cross_entropy_grad<double>(
    std::int64_t, std::int64_t, const double*, RowIndex, const double*, double*);
template void soft_cross_entropy<double>(
    std::int64_t, std::int64_t, const double*, const double*, double*);
template void soft_cross_entropy_grad<double>(
    std::int64_t, std::int64_t, const double*, const double*, const double*, double*);
template void soft_cross_entropy_label_grad<double>(
    std::int64_t, std::int64_t, const double*, const double*, double*);
template void softmax_cross_entropy<double>(
    std::int64_t, std::int64_t, const double*, const double*, RowIndex, double*);
template void softmax_cross_entropy_grad<double>(
    std::int64_t, std::int64_t, const double*, RowIndex, const double*, double*);
template void soft_softmax_cross_entropy<double>(
    std::int64_t, std::int64_t, const double*, const double*, const double*, double*);
template void soft_softmax_cross_entropy_grad<double>(
    std::int64_t, std::int64_t, const double*, const double*, const double*, double*);
template void soft_softmax_cross_entropy_label_grad<double>(
    std::int64_t, std::int64_t, const double*, const double*, double*);

}  // namespace fluidcore::cpu
