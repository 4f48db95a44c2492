#pragma once

#include <string_view>

#include "fluidcore/op/contexts.h"

namespace fluidcore {

// The spec that the attributes `shape` and `dtype` describe. Throws InvalidArgument for an extent
// below 0 and for an unknown dtype.
TensorSpec spec_from_attrs(const InferContext& context);

// Throws InvalidArgument unless the attribute `name`, a number, is a value of an integer dtype;
// every floating dtype has it.
void require_value(const InferContext& context, std::string_view name, DType dtype);

}  // namespace fluidcore
