#pragma once

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
