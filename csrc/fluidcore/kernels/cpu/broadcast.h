#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/base/shape.h"
#include "fluidcore/kernels/cpu/streams.h"

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
  // The dimensions, and how far apart the elements of an operand are in each; 0: repeated.
  const std::vector<std::int64_t>& extents() const { return extents_; }
  const std::vector<std::int64_t>& strides(std::size_t operand) const { return strides_[operand]; }
  // Into how many pieces an operand can be cut, so that equal pieces of the output are made of
  // them: the product of the leading extents that it shares.
  std::int64_t rows(std::size_t operand) const { return rows_[operand]; }
  // Whether an operand has the shape of the output.
  bool is_full(std::size_t operand) const { return is_full_[operand]; }
  // Whether an operand has one element for each element of a row, or one for the whole row.
  bool streams(std::size_t operand) const { return strides_[operand].back() != 0; }
  // The first element of an operand in row `row`.
  std::int64_t offset(std::size_t operand, std::int64_t row) const;

 private:
  std::int64_t size_;
  std::vector<std::int64_t> extents_;               // at least one
  std::vector<std::vector<std::int64_t>> strides_;  // of each operand; 0: repeated
  std::vector<bool> is_full_;
  std::vector<std::int64_t> rows_;
};

// Calls f(at, count, row, column) for the pieces of rows that the elements [begin, begin + size) of
// an output consist of; `at` counts from 0.
template <class F>
void for_row_pieces(const BroadcastNest& nest, std::int64_t begin, std::int64_t size, const F& f) {
  std::int64_t row = begin / nest.row();
  std::int64_t column = begin - row * nest.row();
  for (std::int64_t at = 0; at < size; ++row, column = 0) {
    const std::int64_t count = std::min(nest.row() - column, size - at);
    f(at, count, row, column);
    at += count;
  }
}

// An operand of a nest: its element i is i - origin elements behind `data`.
struct BroadcastOperand {
  const void* data;
  std::int64_t origin = 0;
};

// out[i] = formula(in[...]...) for the elements [begin, begin + size) of the output; `in` are the
// operands of `nest`. `out` points to element `begin`.
void broadcast_part(const BroadcastNest& nest,
                    const StreamFormula& formula,
                    std::int64_t begin,
                    std::int64_t size,
                    void* out,
                    const BroadcastOperand* in);

// All elements, on several threads if there is enough to do.
void run_broadcast(const BroadcastNest& nest,
                   const StreamFormula& formula,
                   void* out,
                   const void* const* in);

template <class Formula, class Out, class... In>
void broadcast_elementwise(const BroadcastNest& nest,
                           const Formula& formula,
                           Out* out,
                           const In*... in) {
  const std::array<const void*, sizeof...(In)> data{in...};
  run_broadcast(nest, stream_formula<Out, In...>(formula), out, data.data());
}

}  // namespace fluidcore::cpu
