#pragma once

#include <cstddef>
#include <vector>

#include "fluidcore/kernels/cpu/strided.h"
#include "fluidcore/op/op_def.h"

namespace fluidcore {

// Kernels of operators whose Out is made of elements of X, each dimension by itself.

// What each dimension of Out takes from X, which has as many here.
using SegmentsOf = std::vector<cpu::Segments> (*)(const KernelContext&,
                                                  const Shape& x,
                                                  const Shape& out);

// With extents of 1 added in front.
Shape with_rank(const Shape& shape, std::size_t rank);

// Copies elements of `from` to `to`, which do not overlap.
Kernel copy_pairs(const KernelContext& context,
                  const std::vector<cpu::StridedPair>& pairs,
                  Arg<const void> from,
                  Arg<void> to);

// Dimension d of `to` is dimension axes[d] of `from`, which is seen as one of `shape`.
Kernel permute(const KernelContext& context,
               Arg<const void> from,
               Arg<void> to,
               const Shape& shape,
               const std::vector<std::size_t>& axes);

// Out takes all of its elements from X.
Kernel take_segments(const KernelContext& context, SegmentsOf segments);
template <SegmentsOf segments>
Kernel take(const KernelContext& context) {
  return take_segments(context, segments);
}

// X@GRAD = Out@GRAD where Out has taken the element, each once; 0 elsewhere.
Kernel return_segments(const KernelContext& context, SegmentsOf segments);
template <SegmentsOf segments>
Kernel take_grad(const KernelContext& context) {
  return return_segments(context, segments);
}

}  // namespace fluidcore
