#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// Functions of two tensors that give one number for each of `rows` rows of `columns` elements; y
// has `y_rows` rows, as many or one. For T float or double, with sums in double.
struct RowPairs {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t y_rows;

  std::int64_t y_start(std::int64_t row) const { return y_rows == 1 ? 0 : row * columns; }
};

// diff = (x - y) inside; loss = the sum of outside (diff^2 limit / 2 where |diff| < 1 / limit, else
// |diff| - 1 / (2 limit)). Weights may be null, for ones; so may diff.
template <class T>
void smooth_l1(const RowPairs& pairs,
               T limit,
               const T* x,
               const T* y,
               const T* inside,
               const T* outside,
               T* diff,
               T* loss);

// difference = x - y, which may be null; distance = the sum of difference^2.
template <class T>
void squared_distance(const RowPairs& pairs, const T* x, const T* y, T* difference, T* distance);

// norm[i] = the root of the sum of x[i]^2
template <class T>
void row_norms(std::int64_t rows, std::int64_t columns, const T* x, T* norm);

// cosine = the sum of x y / (x_norm y_norm)
template <class T>
void row_cosines(
    const RowPairs& pairs, const T* x, const T* y, const T* x_norm, const T* y_norm, T* cosine);

}  // namespace fluidcore::cpu
