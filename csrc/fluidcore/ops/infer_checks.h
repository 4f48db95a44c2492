#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "fluidcore/base/error.h"
#include "fluidcore/op/cast_advice.h"
#include "fluidcore/op/contexts.h"

namespace fluidcore {

// Checks that inference functions have in common; each throws InvalidArgument.

inline void require_shape(const InferContext& context, std::string_view slot, const Shape& shape) {
  const Shape& actual = context.input(slot).shape;
  require(compatible(actual, shape), context.type(), ": ", slot, " must have shape ", shape,
          ", got ", actual);
}

// `meaning` names the dimensions: "[N, C, H, W]".
inline void require_rank(const InferContext& context,
                         std::string_view slot,
                         std::size_t rank,
                         std::string_view meaning) {
  const Shape& actual = context.input(slot).shape;
  require(actual.rank() == rank, context.type(), ": ", slot, " must have rank ", rank, " ", meaning,
          ", got ", actual);
}

inline void require_dtype(const InferContext& context, std::string_view slot, DType dtype) {
  const DType actual = context.input(slot).dtype;
  require(actual == dtype, context.type(), ": ", slot, " must be ", dtype, ", got ", actual,
          cast_advice(slot, dtype));
}

inline void require_not_negative(const InferContext& context,
                                 std::initializer_list<std::string_view> attrs) {
  for (const std::string_view name : attrs) {
    const double value = context.attr<double>(name);
    require(value >= 0.0, context.type(), ": ", name, " must be at least 0, got ", value);
  }
}

// Attributes that say how much of something is kept.
inline void require_share(const InferContext& context,
                          std::initializer_list<std::string_view> attrs) {
  for (const std::string_view name : attrs) {
    const double value = context.attr<double>(name);
    require(value >= 0.0 && value < 1.0, context.type(), ": ", name, " must be in [0, 1), got ",
            value);
  }
}

// The cotangent of an output that the forward operator would give `spec`.
inline void require_spec(const InferContext& context,
                         std::string_view slot,
                         const TensorSpec& spec) {
  require_shape(context, slot, spec.shape);
  require_dtype(context, slot, spec.dtype);
}

}  // namespace fluidcore
