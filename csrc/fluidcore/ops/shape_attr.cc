#include "fluidcore/ops/shape_attr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "fluidcore/base/error.h"

namespace fluidcore {

TensorSpec spec_from_attrs(const InferContext& context) {
  Shape shape(context.attr<std::vector<std::int64_t>>("shape"));
  require(std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent >= 0; }),
          context.type(), ": shape must be known, got ", shape);
  shape.num_elements();  // throws if there are too many to count
  return {std::move(shape), dtype_from_number(context.attr<std::int64_t>("dtype"))};
}

void require_value(const InferContext& context, std::string_view name, DType dtype) {
  if (is_floating(dtype)) return;
  const double value = context.attr<double>(name);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      // The limit above the greatest integer is a floating number; the greatest may not be.
      const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
      const double lowest = std::is_same_v<T, bool> ? 0.0 : -above;
      require(value == std::trunc(value) && value >= lowest && value < above, context.type(), ": ",
              name, " must be a whole number in the range of ", dtype, ", got ", value);
    }
  });
}

}  // namespace fluidcore
