#pragma once

#include <cmath>
#include <cstdint>

#include "fluidcore/kernels/cpu/row_loss.h"
#include "fluidcore/kernels/cuda/launch.h"

namespace fluidcore::cuda {

// A group for each row, with sums in double; see kernels/cpu/row_loss.h.

// The sum of term(i) over the numbers of a row.
template <class Term>
FC_HOST_DEVICE double sum_of_row(const Group& group, std::int64_t columns, const Term& term) {
  double sum = 0;
  for (std::int64_t i = group.rank(); i < columns; i += group.size()) {
    sum += static_cast<double>(term(i));
  }
  return group.sum(sum);
}

FC_HOST_DEVICE inline std::int64_t start_of_y(const cpu::RowPairs& pairs, std::int64_t row) {
  return pairs.y_rows == 1 ? 0 : row * pairs.columns;
}

template <class T>
struct SmoothL1Rows {
  cpu::RowPairs pairs;
  T limit;

  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t row,
                                 const T* x,
                                 const T* y,
                                 const T* inside,
                                 const T* outside,
                                 T* diff,
                                 T* loss) const {
    const std::int64_t start = row * pairs.columns;
    const double sum = sum_of_row(group, pairs.columns, [&](std::int64_t i) {
      const std::int64_t at = start + i;
      const T weight = inside == nullptr ? T(1) : inside[at];
      const T difference = (x[at] - y[start_of_y(pairs, row) + i]) * weight;
      if (diff != nullptr) diff[at] = difference;
      const T size = difference < T(0) ? -difference : difference;
      const T near = size < T(1) / limit ? size : T(1) / limit;
      const T value = limit * near * (size - T(0.5) * near);
      return outside == nullptr ? value : value * outside[at];
    });
    if (group.rank() == 0) loss[row] = static_cast<T>(sum);
  }
};

struct SquaredDistanceRows {
  cpu::RowPairs pairs;

  template <class T>
  FC_HOST_DEVICE void operator()(
      const Group& group, std::int64_t row, const T* x, const T* y, T* difference, T* out) const {
    const std::int64_t start = row * pairs.columns;
    const double sum = sum_of_row(group, pairs.columns, [&](std::int64_t i) {
      const T value = x[start + i] - y[start_of_y(pairs, row) + i];
      if (difference != nullptr) difference[start + i] = value;
      return value * value;
    });
    if (group.rank() == 0) out[row] = static_cast<T>(sum);
  }
};

struct NormOfRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group, std::int64_t row, const T* x, T* norm) const {
    const T* const from = x + row * columns;
    const double sum = sum_of_row(group, columns, [&](std::int64_t i) {
      return static_cast<double>(from[i]) * static_cast<double>(from[i]);
    });
    if (group.rank() == 0) norm[row] = static_cast<T>(std::sqrt(sum));
  }
};

struct CosineOfRows {
  cpu::RowPairs pairs;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t row,
                                 const T* x,
                                 const T* y,
                                 const T* x_norm,
                                 const T* y_norm,
                                 T* cosine) const {
    const T* const a = x + row * pairs.columns;
    const T* const b = y + start_of_y(pairs, row);
    const double product = sum_of_row(group, pairs.columns, [&](std::int64_t i) {
      return static_cast<double>(a[i]) * static_cast<double>(b[i]);
    });
    const T other = y_norm[pairs.y_rows == 1 ? 0 : row];
    if (group.rank() == 0) {
      cosine[row] =
          static_cast<T>(product / static_cast<double>(x_norm[row]) / static_cast<double>(other));
    }
  }
};

// Every element of a row becomes the mean of the row.
struct MeanOfRows {
  std::int64_t columns;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group, std::int64_t row, const T* x, T* out) const {
    const T* const from = x + row * columns;
    const double sum = sum_of_row(group, columns, [&](std::int64_t i) { return from[i]; });
    const T mean = static_cast<T>(sum / static_cast<double>(columns));
    for (std::int64_t i = group.rank(); i < columns; i += group.size()) {
      out[row * columns + i] = mean;
    }
  }
};

}  // namespace fluidcore::cuda
