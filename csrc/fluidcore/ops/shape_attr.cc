#include "fluidcore/ops/shape_attr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"

namespace fluidcore {

namespace {

std::size_t dim_from_attr(const InferContext& context, const char* name, std::size_t rank) {
  const std::int64_t dim = context.attr<std::int64_t>(name);
  require(dim >= 0 && dim < static_cast<std::int64_t>(rank), context.type(), ": ", name,
          " must be a dimension, got ", dim, " for ", rank, " dimensions");
  return static_cast<std::size_t>(dim);
}

// As spec_from_attrs, with an extent of Input, which may be unknown.
Shape shape_like_input(const InferContext& context, Shape shape) {
  const Shape& input = context.input("Input").shape;
  const std::size_t from = dim_from_attr(context, "input_dim_idx", input.rank());
  const std::size_t to = dim_from_attr(context, "output_dim_idx", shape.rank());
  shape[to] = 1;
  require(std::ranges::all_of(shape, [](std::int64_t extent) { return extent >= 0; }),
          context.type(), ": all extents of shape but that at output_dim_idx must be known, got ",
          Shape(context.attr<std::vector<std::int64_t>>("shape")), " with output_dim_idx ", to);
  shape[to] = input[from];
  require_countable(context.type(), "shape", shape);
  return shape;
}

}  // namespace

TensorSpec spec_from_attrs(const InferContext& context) {
  Shape shape(context.attr<std::vector<std::int64_t>>("shape"));
  const DType dtype = dtype_from_number(context.attr<std::int64_t>("dtype"));
  if (context.has_input("Input")) return {shape_like_input(context, std::move(shape)), dtype};
  require(std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent >= 0; }),
          context.type(), ": shape must be known, got ", shape,
          "; the operators *_batch_size_like take an extent from another tensor");
  require_countable(context.type(), "shape", shape);
  return {std::move(shape), dtype};
}

OpDef with_batch_size_like(OpDef&& def) {
  return std::move(def)
      .input("Input", "any shape and dtype", {.shape_only = true})
      .attr("input_dim_idx", std::int64_t{0}, "the dimension of Input whose extent is taken")
      .attr("output_dim_idx", std::int64_t{0}, "the dimension of Out that has it");
}

void require_countable(std::string_view who, std::string_view name, const Shape& shape) {
  try {
    shape.num_elements();
  } catch (const InvalidArgument&) {
    throw InvalidArgument(str_cat(who, ": extents of ", name,
                                  " must have a product that can be counted, got ", shape));
  }
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
