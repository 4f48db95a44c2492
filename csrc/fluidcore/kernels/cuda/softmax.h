#pragma once

#include <cstdint>
#include <limits>

#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore::cuda {

// Rows of `columns` elements, a group for each; see kernels/cpu/softmax.h and cross_entropy.h.

// Losses stay finite, so that one impossible sample does not turn the sum of all into infinity.
template <class T>
FC_HOST_DEVICE T tolerable(T value) {
  constexpr T kLarge = T(1e20);
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  return value == kInfinity ? kLarge : value == -kInfinity ? -kLarge : value;
}

template <class T>
FC_HOST_DEVICE T greatest_of_row(const Group& group, std::int64_t columns, const T* x) {
  T greatest = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = group.rank(); i < columns; i += group.size()) {
    greatest = x[i] > greatest ? x[i] : greatest;
  }
  return group.all(greatest, [](T a, T b) { return a > b ? a : b; });
}

template <class T>
FC_HOST_DEVICE T sum_of_exp(const Group& group, std::int64_t columns, const T* x, T greatest) {
  T sum = 0;
  for (std::int64_t i = group.rank(); i < columns; i += group.size()) {
    sum += math::exp(x[i] - greatest);
  }
  return group.sum(sum);
}

struct SoftmaxRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group, std::int64_t row, const T* x, T* out) const {
    const std::int64_t first = row * columns;
    const T greatest = greatest_of_row(group, columns, x + first);
    const T factor = T(1) / sum_of_exp(group, columns, x + first, greatest);
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      out[i] = math::exp(x[i] - greatest) * factor;
    }
  }
};

struct LogSoftmaxRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group, std::int64_t row, const T* x, T* out) const {
    const std::int64_t first = row * columns;
    const T greatest = greatest_of_row(group, columns, x + first);
    const T log_sum = math::log(sum_of_exp(group, columns, x + first, greatest));
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      out[i] = (x[i] - greatest) - log_sum;
    }
  }
};

struct SoftmaxGradRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(
      const Group& group, std::int64_t row, const T* out, const T* dout, T* dx) const {
    const std::int64_t first = row * columns;
    T sum = 0;
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      sum += out[i] * dout[i];
    }
    sum = group.sum(sum);
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      dx[i] = (dout[i] - sum) * out[i];
    }
  }
};

struct LogSoftmaxGradRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(
      const Group& group, std::int64_t row, const T* out, const T* dout, T* dx) const {
    const std::int64_t first = row * columns;
    T sum = 0;
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      sum += dout[i];
    }
    sum = group.sum(sum);
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      dx[i] = dout[i] - math::exp(out[i]) * sum;
    }
  }
};

// The loss of softmax(logits) at a hard label, and the softmax where it is wanted.
struct SoftmaxCrossEntropyRows {
  std::int64_t columns;
  cpu::RowIndex label;

  template <class T>
  FC_HOST_DEVICE void operator()(
      const Group& group, std::int64_t row, const T* logits, T* softmax, T* loss) const {
    const std::int64_t first = row * columns;
    const T greatest = greatest_of_row(group, columns, logits + first);
    const T sum = sum_of_exp(group, columns, logits + first, greatest);
    const std::int64_t at = label[row];
    if (group.rank() == 0) {
      loss[row] = at < 0 ? T(0) : tolerable(greatest + math::log(sum) - logits[first + at]);
    }
    if (softmax == nullptr) return;
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      softmax[i] = math::exp(logits[i] - greatest) / sum;
    }
  }
};

// The same of a distribution over the classes.
struct SoftSoftmaxCrossEntropyRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t row,
                                 const T* logits,
                                 const T* label,
                                 T* softmax,
                                 T* loss) const {
    const std::int64_t first = row * columns;
    const T greatest = greatest_of_row(group, columns, logits + first);
    const T sum = sum_of_exp(group, columns, logits + first, greatest);
    const T normalizer = greatest + math::log(sum);
    T total = 0;
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      total += label[i] == T(0) ? T(0) : label[i] * (normalizer - logits[i]);
      if (softmax != nullptr) softmax[i] = math::exp(logits[i] - greatest) / sum;
    }
    total = group.sum(total);
    if (group.rank() == 0) loss[row] = tolerable(total);
  }
};

struct SoftSoftmaxCrossEntropyGradRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t row,
                                 const T* softmax,
                                 const T* label,
                                 const T* dloss,
                                 T* dlogits) const {
    const std::int64_t first = row * columns;
    T total = 0;  // the labels of a row need not add up to 1
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      total += label[i];
    }
    total = group.sum(total);
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      dlogits[i] = (softmax[i] * total - label[i]) * dloss[row];
    }
  }
};

struct SoftSoftmaxLabelGradRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(
      const Group& group, std::int64_t row, const T* logits, const T* dloss, T* dlabel) const {
    const std::int64_t first = row * columns;
    const T greatest = greatest_of_row(group, columns, logits + first);
    const T normalizer = greatest + math::log(sum_of_exp(group, columns, logits + first, greatest));
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      dlabel[i] = dloss[row] * tolerable(normalizer - logits[i]);
    }
  }
};

// Of the loss, by element.
struct SoftmaxCrossEntropyGrad {
  std::int64_t columns;
  cpu::RowIndex label;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* softmax, const T* dloss, T* dlogits) const {
    const std::int64_t row = i / columns;
    const std::int64_t at = label[row];
    const T value = softmax[i] - (i - row * columns == at ? T(1) : T(0));
    dlogits[i] = at < 0 ? T(0) : value * dloss[row];
  }
};

// Of probabilities, by row.
struct CrossEntropy {
  std::int64_t columns;
  cpu::RowIndex label;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index row, const T* x, T* loss) const {
    const std::int64_t at = label[row];
    loss[row] = at < 0 ? T(0) : -tolerable(math::log(x[row * columns + at]));
  }
};

struct CrossEntropyGrad {
  std::int64_t columns;
  cpu::RowIndex label;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, const T* dloss, T* dx) const {
    const std::int64_t row = i / columns;
    dx[i] = i - row * columns == label[row] ? tolerable(-dloss[row] / x[i]) : T(0);
  }
};

struct SoftCrossEntropyRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(
      const Group& group, std::int64_t row, const T* x, const T* label, T* loss) const {
    const std::int64_t first = row * columns;
    T sum = 0;
    for (std::int64_t i = first + group.rank(); i < first + columns; i += group.size()) {
      sum += label[i] * tolerable(math::log(x[i]));
    }
    sum = group.sum(sum);
    if (group.rank() == 0) loss[row] = -sum;
  }
};

struct SoftCrossEntropyGrad {
  std::int64_t columns;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, const T* label, const T* dloss, T* dx) const {
    // A class that cannot be has no part in the loss, also where its probability is 0.
    dx[i] = label[i] == T(0) ? T(0) : tolerable(-dloss[i / columns] * label[i] / x[i]);
  }
};

struct SoftCrossEntropyLabelGrad {
  std::int64_t columns;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, const T* dloss, T* dlabel) const {
    dlabel[i] = -dloss[i / columns] * tolerable(math::log(x[i]));
  }
};

}  // namespace fluidcore::cuda
