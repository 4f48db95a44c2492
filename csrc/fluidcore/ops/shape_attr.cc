#include "fluidcore/ops/shape_attr.h"

#include <algorithm>

#include "fluidcore/base/error.h"

namespace fluidcore {

TensorSpec spec_from_attrs(const InferContext& context) {
  Shape shape(context.attr<std::vector<std::int64_t>>("shape"));
  require(std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent >= 0; }),
          context.type(), ": shape must be known, got ", shape);
  shape.num_elements();  // throws if there are too many to count
  return {std::move(shape), dtype_from_number(context.attr<std::int64_t>("dtype"))};
}

}  // namespace fluidcore
