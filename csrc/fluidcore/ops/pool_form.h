#pragma once

#include <cstddef>

#include "fluidcore/kernels/pool_problem.h"
#include "fluidcore/op/op_def.h"
#include "fluidcore/ops/window_attrs.h"

namespace fluidcore {

// What poolings have in common: the attributes ksize, strides, paddings, global_pooling and
// adaptive.

// Declares them.
OpDef with_pool_attrs(OpDef def, std::size_t axes);

// The shape of Out for X of the shape `x`, both with the channels first. Throws InvalidArgument for
// X or attributes that do not fit.
Shape pool_shape(const InferContext& context, const Shape& x, bool ceil_mode);

PoolProblem pool_problem(const KernelContext& context,
                         const Shape& x,
                         Pooling pooling,
                         bool ceil_mode);

}  // namespace fluidcore
