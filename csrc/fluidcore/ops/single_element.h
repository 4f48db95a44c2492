#pragma once

#include <cstdint>
#include <string_view>

#include "fluidcore/op/contexts.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/on_host.h"

namespace fluidcore {

// Inputs that steer an operator: a condition or an index, a tensor of one element.

// Throws InvalidArgument unless the input can have one element.
inline void require_one_element(const InferContext& context, std::string_view slot) {
  const TensorSpec& spec = context.input(slot);
  bool fits = true;
  for (const std::int64_t extent : spec.shape) fits = fits && compatible(extent, 1);
  require(fits, context.type(), ": ", slot, " must have one element, got ", spec);
}

// A condition: one element, bool.
inline void require_condition(const InferContext& context, std::string_view slot) {
  require_dtype(context, slot, DType::kBool);
  require_one_element(context, slot);
}

// An index: one element, int32 or int64.
inline void require_index(const InferContext& context, std::string_view slot) {
  const TensorSpec& spec = context.input(slot);
  require(spec.dtype == DType::kInt32 || spec.dtype == DType::kInt64, context.type(), ": ", slot,
          " must be int32 or int64, got ", spec.dtype, cast_advice(slot, DType::kInt64));
  require_one_element(context, slot);
}

class Index {
 public:
  Index(const KernelContext& context, std::string_view slot)
      : arg_(context.raw_input(slot)), is_wide_(arg_.spec().dtype == DType::kInt64) {}

  std::int64_t value() const {  // only while the kernel runs
    return is_wide_ ? read_element(Arg<const std::int64_t>(arg_.cell()))
                    : read_element(Arg<const std::int32_t>(arg_.cell()));
  }

 private:
  Arg<const void> arg_;
  bool is_wide_;
};

}  // namespace fluidcore
