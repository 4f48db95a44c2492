#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fluidcore/base/shape.h"

namespace fluidcore {

// The dimension of the attribute `axis`, counted from 0; as in NumPy a single number counts as [1].
template <class Context>
std::size_t axis_of_sequences(const Context& context, const Shape& shape) {
  return normalize_axis(context.template attr<std::int64_t>("axis"),
                        std::max<std::size_t>(shape.rank(), 1), context.type());
}

// For row_dims: the dimensions in front of it.
template <class Context>
std::size_t dims_before_sequences(const Context& context, const Shape& shape) {
  return std::min(axis_of_sequences(context, shape), shape.rank());
}

// A tensor as sequences along a dimension: element i of one of them is element
// (o * count + i) * inner + k, for o in [0, outer) and k in [0, inner).
struct SequencesOf {
  SequencesOf(const Shape& shape, std::size_t axis)
      : outer(shape.product(0, std::min(axis, shape.rank()))),
        count(shape.rank() == 0 ? 1 : shape[axis]),
        inner(shape.product(std::min(axis + 1, shape.rank()), shape.rank())) {}

  std::int64_t outer;
  std::int64_t count;
  std::int64_t inner;
};

}  // namespace fluidcore
