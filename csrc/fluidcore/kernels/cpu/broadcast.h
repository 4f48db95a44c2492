#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
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
};

// out[i] = formula(in[...]...) for the elements [begin, begin + size) of the output; `in` are the
// operands of `nest`. `out`, and those that are full, point to element `begin`, the others to their
// first.
template <class Formula, class Out, class... In>
void broadcast_part(const BroadcastNest& nest,
                    const Formula& formula,
                    std::int64_t begin,
                    std::int64_t size,
                    Out* out,
                    const In*... in) {
  const Isa isa = cpu_isa();
  for (std::int64_t done = 0; done < size;) {
    const std::int64_t row = (begin + done) / nest.row();
    const std::int64_t column = begin + done - row * nest.row();
    const std::int64_t count = std::min(nest.row() - column, size - done);
    const auto operand = [&]<class T>(std::size_t index, const T* data) -> Operand<T> {
      if (nest.is_full(index)) return {data + done};
      const bool streams = nest.streams(index);
      return {data + nest.offset(index, row) + (streams ? column : 0), streams};
    };
    [&]<std::size_t... index>(std::index_sequence<index...>) {
      calculate_row(isa, formula, count, out + done, operand(index, in)...);
    }(std::index_sequence_for<In...>());
    done += count;
  }
}

// All elements, on several threads if there is enough to do.
template <class Formula, class Out, class... In>
void broadcast_elementwise(const BroadcastNest& nest,
                           const Formula& formula,
                           Out* out,
                           const In*... in) {
  parallel_for(nest.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    [&]<std::size_t... index>(std::index_sequence<index...>) {
      broadcast_part(nest, formula, begin, end - begin, out + begin,
                     in + (nest.is_full(index) ? begin : 0)...);
    }(std::index_sequence_for<In...>());
  });
}

}  // namespace fluidcore::cpu
