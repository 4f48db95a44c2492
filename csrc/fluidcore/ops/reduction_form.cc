#include <algorithm>
#include <utility>

#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/reduction.h"

namespace fluidcore {

namespace {

// The dimensions in front of the first that is reduced.
std::size_t kept_dims(const InferContext& context, std::string_view slot) {
  const std::vector<bool> reduced = reduced_axes(context, context.input(slot).shape.rank());
  return static_cast<std::size_t>(std::ranges::find(reduced, true) - reduced.begin());
}

OpDef with_reduce_attrs(OpDef&& def) {
  return std::move(def)
      .attr("dim", std::vector<std::int64_t>{0},
            "the dimensions to reduce, one or several, counted from the end if negative")
      .attr("keep_dim", false, "whether Out keeps the dimensions, with extent 1")
      .attr("reduce_all", false, "whether to reduce all dimensions, to Out [1]")
      .dims_attr("dim");
}

}  // namespace

std::int64_t reduced_count(const Shape& x, const std::vector<bool>& reduced) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (reduced[axis]) count *= x[axis];
  }
  return count;
}

Shape kept_shape(const Shape& x, const std::vector<bool>& reduced) {
  Shape kept = x;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (reduced[axis]) kept[axis] = 1;
  }
  return kept;
}

TensorSpec reduced_spec(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  if (context.type().starts_with("mean")) return {Shape{1}, x.dtype};
  const std::vector<bool> reduced = reduced_axes(context, x.shape.rank());
  std::vector<std::int64_t> extents;
  const bool all = context.attr<bool>("reduce_all");
  for (std::size_t axis = 0; axis < x.shape.rank() && !all; ++axis) {
    if (!reduced[axis]) {
      extents.push_back(x.shape[axis]);
    } else if (context.attr<bool>("keep_dim")) {
      extents.push_back(1);
    }
  }
  if (extents.empty()) extents.push_back(1);
  return {Shape(std::move(extents)), x.dtype};
}

void infer_reduce_grad(InferContext& context) {
  const TensorSpec out = reduced_spec(context);
  if (context.has_input("Out")) require_spec(context, "Out", out);
  require_spec(context, "Out@GRAD", out);
  infer_grads_like_inputs(context);
}

OpDef declare_reduce(std::string type, std::string doc) {
  return with_reduce_attrs(OpDef(std::move(type)))
      .doc(std::move(doc))
      .input("X", "any shape")
      .output("Out", "X without the dimensions dim; [1] if nothing is left")
      .row_dims(kept_dims);
}

OpDef declare_reduce_grad(std::string type, std::string doc) {
  return with_reduce_attrs(OpDef(std::move(type))).doc(std::move(doc)).infer(infer_reduce_grad);
}

}  // namespace fluidcore
