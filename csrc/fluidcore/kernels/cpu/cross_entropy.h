#pragma once

#include <cstdint>

#include "fluidcore/kernels/cpu/gather.h"

namespace fluidcore::cpu {

// Losses over rows of `columns` classes, for T float or double. A hard label is the number of the
// right class, and has been checked; a row with label -1 has loss 0 and gradient 0. A soft label is
// a distribution over the classes. Infinite logarithms count as 1e20 of their sign.

// loss[i] = -log(x[i][label[i]])
template <class T>
void cross_entropy(std::int64_t rows, std::int64_t columns, const T* x, RowIndex label, T* loss);
template <class T>
void cross_entropy_grad(std::int64_t rows,
                        std::int64_t columns,
                        const T* x,
                        RowIndex label,
                        const T* loss_grad,
                        T* x_grad);

// loss[i] = -sum of label[i] log(x[i])
template <class T>
void soft_cross_entropy(
    std::int64_t rows, std::int64_t columns, const T* x, const T* label, T* loss);
template <class T>
void soft_cross_entropy_grad(std::int64_t rows,
                             std::int64_t columns,
                             const T* x,
                             const T* label,
                             const T* loss_grad,
                             T* x_grad);
template <class T>
void soft_cross_entropy_label_grad(
    std::int64_t rows, std::int64_t columns, const T* x, const T* loss_grad, T* label_grad);

// The same of softmax(logits), exact also where a probability is rounded to 0.
template <class T>
void softmax_cross_entropy(std::int64_t rows,
                           std::int64_t columns,
                           const T* logits,
                           const T* softmax,
                           RowIndex label,
                           T* loss);
template <class T>
void softmax_cross_entropy_grad(std::int64_t rows,
                                std::int64_t columns,
                                const T* softmax,
                                RowIndex label,
                                const T* loss_grad,
                                T* logits_grad);
template <class T>
void soft_softmax_cross_entropy(std::int64_t rows,
                                std::int64_t columns,
                                const T* logits,
                                const T* softmax,
                                const T* label,
                                T* loss);
template <class T>
void soft_softmax_cross_entropy_grad(std::int64_t rows,
                                     std::int64_t columns,
                                     const T* softmax,
                                     const T* label,
                                     const T* loss_grad,
                                     T* logits_grad);
template <class T>
void soft_softmax_cross_entropy_label_grad(
    std::int64_t rows, std::int64_t columns, const T* logits, const T* loss_grad, T* label_grad);

}  // namespace fluidcore::cpu
