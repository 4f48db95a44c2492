#pragma once

#include "fluidcore/op/contexts.h"

namespace fluidcore {

// The spec that the attributes `shape` and `dtype` describe. Throws InvalidArgument for an extent
// below 0 and for an unknown dtype.
TensorSpec spec_from_attrs(const InferContext& context);

}  // namespace fluidcore
