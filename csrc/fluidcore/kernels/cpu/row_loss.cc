#include "fluidcore/kernels/cpu/row_loss.h"

#include <cmath>

#include "fluidcore/kernels/cpu/rows.h"

namespace fluidcore::cpu {

template <class T>
void smooth_l1(const RowPairs& pairs,
               T limit,
               const T* x,
               const T* y,
               const T* inside,
               const T* outside,
               T* diff,
               T* loss) {
  for_rows(pairs.rows, pairs.columns, [=](std::int64_t row) {
    const std::int64_t start = row * pairs.columns;
    const auto difference = [=](std::int64_t i) {
      return (x[i] - y[i]) * (inside == nullptr ? T(1) : inside[i]);
    };
    if (diff != nullptr) {
#pragma omp simd
      for (std::int64_t i = start; i < start + pairs.columns; ++i) diff[i] = difference(i);
    }
    const auto loss_of = [limit, reach = T(1) / limit](T difference) {
      const T size = std::abs(difference);
      const T near = size < reach ? size : reach;
      return limit * near * (size - T(0.5) * near);
    };
    const bool is_weighted = inside != nullptr || outside != nullptr;
    loss[row] =
        static_cast<T>(is_weighted ? sum_of_row(pairs.columns,
                                                [=](std::int64_t column) {
                                                  const std::int64_t i = start + column;
                                                  const T weight =
                                                      outside == nullptr ? T(1) : outside[i];
                                                  return weight * loss_of(difference(i));
                                                })
                                   : sum_of_row(pairs.columns, [=](std::int64_t column) {
                                       return loss_of(x[start + column] - y[start + column]);
                                     }));
  });
}

template <class T>
void squared_distance(const RowPairs& pairs, const T* x, const T* y, T* difference, T* distance) {
  for_rows(pairs.rows, pairs.columns, [=](std::int64_t row) {
    const T* a = x + row * pairs.columns;
    const T* b = y + pairs.y_start(row);
    if (difference != nullptr) {
      T* to = difference + row * pairs.columns;
#pragma omp simd
      for (std::int64_t i = 0; i < pairs.columns; ++i) to[i] = a[i] - b[i];
    }
    distance[row] = static_cast<T>(
        sum_of_row(pairs.columns, [=](std::int64_t i) { return (a[i] - b[i]) * (a[i] - b[i]); }));
  });
}

template <class T>
void row_norms(std::int64_t rows, std::int64_t columns, const T* x, T* norm) {
  for_rows(rows, columns, [=](std::int64_t row) {
    const T* from = x + row * columns;
    norm[row] = static_cast<T>(std::sqrt(sum_of_row(columns, [=](std::int64_t i) {
      return static_cast<double>(from[i]) * static_cast<double>(from[i]);
    })));
  });
}

template <class T>
void row_cosines(
    const RowPairs& pairs, const T* x, const T* y, const T* x_norm, const T* y_norm, T* cosine) {
  for_rows(pairs.rows, pairs.columns, [=](std::int64_t row) {
    const T* a = x + row * pairs.columns;
    const T* b = y + pairs.y_start(row);
    const double product = sum_of_row(pairs.columns, [=](std::int64_t i) {
      return static_cast<double>(a[i]) * static_cast<double>(b[i]);
    });
    const T other = y_norm[pairs.y_rows == 1 ? 0 : row];
    cosine[row] =
        static_cast<T>(product / static_cast<double>(x_norm[row]) / static_cast<double>(other));
  });
}

template void smooth_l1<float>(
    const RowPairs&, float, const float*, const float*, const float*, const float*, float*, float*);
template void smooth_l1<double>(const RowPairs&,
                                double,
                                const double*,
                                const double*,
                                const double*,
                                const double*,
                                double*,
                                double*);
template void squared_distance<float>(const RowPairs&, const float*, const float*, float*, float*);
template void squared_distance<double>(
    const RowPairs&, const double*, const double*, double*, double*);
template void row_norms<float>(std::int64_t, std::int64_t, const float*, float*);
template void row_norms<double>(std::int64_t, std::int64_t, const double*, double*);
template void row_cosines<float>(
    const RowPairs&, const float*, const float*, const float*, const float*, float*);
template void row_cosines<double>(
    const RowPairs&, const double*, const double*, const double*, const double*, double*);

}  // namespace fluidcore::cpu
