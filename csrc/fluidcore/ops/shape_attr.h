#pragma once

#include <string_view>

#include "fluidcore/op/contexts.h"
#include "fluidcore/op/op_def.h"

namespace fluidcore {

// The spec that the attributes `shape` and `dtype` describe; of an operator with batch size like
// another tensor one extent is that of Input. Throws InvalidArgument for an extent below 0 and for
// an unknown dtype.
TensorSpec spec_from_attrs(const InferContext& context);

// Throws InvalidArgument for more elements than can be counted: `who` and `name` say whose shape it
// is.
void require_countable(std::string_view who, std::string_view name, const Shape& shape);

// Throws InvalidArgument unless the attribute `name`, a number, is a value of an integer dtype;
// every floating dtype has it.
void require_value(const InferContext& context, std::string_view name, DType dtype);

inline constexpr const char* kShapeDoc = "extents of Out, known";
inline constexpr const char* kShapeLikeDoc =
    "extents of Out, known; that at output_dim_idx is not looked at";

// Declares Input, and which of its extents is which of Out.
OpDef with_batch_size_like(OpDef&& def);

// The kernel that `table` has for the dtype of Out, for an operator whose Input has any.
template <KernelTable (*table)()>
Kernel kernel_for_output(const KernelContext& context) {
  const DeviceKind device = context.device().device().kind;
  return table().at({device, context.raw_output("Out").spec().dtype})(context);
}

}  // namespace fluidcore
