#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/op/op_def.h"

namespace fluidcore {

// What operators that reduce dimensions have in common: the attributes dim, keep_dim, reduce_all.

// Which dimensions of an input of this rank an operator reduces.
template <class Context>
std::vector<bool> reduced_axes(const Context& context, std::size_t rank) {
  if (context.type().starts_with("mean") || context.template attr<bool>("reduce_all")) {
    return std::vector<bool>(rank, true);
  }
  const auto& dims = context.template attr<std::vector<std::int64_t>>("dim");
  require(!dims.empty(), context.type(), ": dim must name a dimension, got []; ",
          "write reduce_all=True for all");
  const std::size_t least_rank = std::max<std::size_t>(rank, 1);  // a number counts as [1]
  std::vector<bool> reduced(least_rank, false);
  for (const std::int64_t dim : dims) {
    const std::size_t axis = normalize_axis(dim, least_rank, context.type());
    require(!reduced[axis], context.type(), ": dim must name each dimension once, got ",
            Attribute(dims), " for an input of rank ", rank);
    reduced[axis] = true;
  }
  reduced.resize(rank);
  return reduced;
}

// How many elements of X are behind one element of Out.
std::int64_t reduced_count(const Shape& x, const std::vector<bool>& reduced);

// x with 1 in place of the reduced extents: the shape of Out, with the rank of X.
Shape kept_shape(const Shape& x, const std::vector<bool>& reduced);

// What the operator, or the one that it is the gradient of, makes of X.
TensorSpec reduced_spec(const InferContext& context);

// Of a gradient operator: checks Out, where it has it, and Out@GRAD.
void infer_reduce_grad(InferContext& context);

// X, Out and the attributes; without inference.
OpDef declare_reduce(std::string type, std::string doc);
// The attributes and the inference; without slots.
OpDef declare_reduce_grad(std::string type, std::string doc);

}  // namespace fluidcore
