#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/base/shape.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

// How operands are read while an output is written from its first element to its last. Adjacent
// dimensions that no operand tells apart are one, so [32, 64, 7, 7] + [1, 64, 1, 1] has the
// extents {32, 64, 49}, and equal shapes have a single extent.
class BroadcastNest {
 public:
  // Operands have the rank of `out`, and its extent or 1 in every dimension.
  BroadcastNest(const Shape& out, const std::vector<Shape>& operands);

  std::int64_t size() const { return size_; }
  std::int64_t row() const { return extents_.back(); }  // the innermost extent
  // Whether an operand has one element for each element of a row, or one for the whole row.
  bool streams(std::size_t operand) const { return strides_[operand].back() != 0; }
  // The first element of an operand in row `row`.
  std::int64_t offset(std::size_t operand, std::int64_t row) const;

 private:
  std::int64_t size_;
  std::vector<std::int64_t> extents_;               // at least one
  std::vector<std::vector<std::int64_t>> strides_;  // of each operand; 0: repeated
};

// Calls f(begin, count, row, column) for the pieces of rows that [0, nest.size()) consists of.
template <class F>
void for_row_pieces(const BroadcastNest& nest, const F& f) {
  parallel_for(nest.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t row = begin / nest.row();
      const std::int64_t column = begin - row * nest.row();
      const std::int64_t count = std::min(nest.row() - column, end - begin);
      f(begin, count, row, column);
      begin += count;
    }
  });
}

// Operand `index` of `nest`, from column `column` of row `row` on.
template <class T>
Operand<T> row_operand(const BroadcastNest& nest,
                       std::size_t index,
                       const T* data,
                       std::int64_t row,
                       std::int64_t column) {
  const bool streams = nest.streams(index);
  return {data + nest.offset(index, row) + (streams ? column : 0), streams};
}

// out[i] = formula(x[...], y[...], full[i]...): x and y are operands 0 and 1 of `nest`, the rest
// have the shape of the output.
template <class Formula, class Out, class X, class Y, class... Full>
void broadcast_elementwise(const BroadcastNest& nest,
                           const Formula& formula,
                           Out* out,
                           const X* x,
                           const Y* y,
                           const Full*... full) {
  const Isa isa = cpu_isa();
  for_row_pieces(
      nest, [&](std::int64_t begin, std::int64_t count, std::int64_t row, std::int64_t column) {
        calculate_row(isa, formula, count, out + begin, row_operand(nest, 0, x, row, column),
                      row_operand(nest, 1, y, row, column), Operand<Full>{full + begin}...);
      });
}

// out[i] = formula(x[...]): x is operand 0 of `nest`.
template <class Formula, class Out, class X>
void broadcast_elementwise(const BroadcastNest& nest,
                           const Formula& formula,
                           Out* out,
                           const X* x) {
  const Isa isa = cpu_isa();
  for_row_pieces(
      nest, [&](std::int64_t begin, std::int64_t count, std::int64_t row, std::int64_t column) {
        calculate_row(isa, formula, count, out + begin, row_operand(nest, 0, x, row, column));
      });
}

}  // namespace fluidcore::cpu
