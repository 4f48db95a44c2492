#include <utility>
#include <vector>

#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/same_elements.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

// Which dimensions of a tensor of this rank the attribute axes names.
std::vector<bool> named_axes(const InferContext& context, std::size_t rank) {
  const auto& axes = context.attr<Ints>("axes");
  std::vector<bool> named(rank, false);
  for (const std::int64_t given : axes) {
    const std::size_t axis = normalize_axis(given, rank, context.type());
    require(!named[axis], context.type(), ": axes must name each dimension once, got ", Shape(axes),
            " for rank ", rank);
    named[axis] = true;
  }
  return named;
}

TensorSpec squeezed(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const auto& axes = context.attr<Ints>("axes");
  require(!axes.empty() || x.shape.is_known(), context.type(),
          ": axes must be given where an extent of X is unknown, got X ", x.shape);
  const std::vector<bool> named = named_axes(context, x.shape.rank());
  Ints extents;
  for (std::size_t d = 0; d < x.shape.rank(); ++d) {
    require(!named[d] || compatible(x.shape[d], 1), context.type(),
            ": axes must name dimensions of extent 1, got X ", x.shape, ", axes ", Shape(axes));
    if (!named[d] && !(axes.empty() && x.shape[d] == 1)) extents.push_back(x.shape[d]);
  }
  return {Shape(std::move(extents)), x.dtype};
}

TensorSpec unsqueezed(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const std::size_t rank = x.shape.rank() + context.attr<Ints>("axes").size();
  const std::vector<bool> is_new = named_axes(context, rank);
  Ints extents;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) extents.push_back(is_new[d] ? 1 : x.shape[next++]);
  return {Shape(std::move(extents)), x.dtype};
}

void add_squeeze(OpRegistry& registry) {
  const char* doc = "dimensions of X of extent 1, from the end if negative; empty: all of these";
  registry.add(OpDef("squeeze")
                   .doc("Out = X without some dimensions of extent 1.")
                   .input("X", "any shape")
                   .output("Out", "the other extents of X, dtype of X")
                   .attr("axes", Ints{}, doc)
                   .infer(infer_as<squeezed>)
                   .in_place("X", "Out")
                   .view("X", "Out")
                   .kernels(byte_kernels_everywhere(same_elements))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(declare_adjoint("squeeze", "X@GRAD = the elements of Out@GRAD in the shape of X.")
                   .attr("axes", Ints{}, doc)
                   .infer(infer_as<squeezed>)
                   .view("Out@GRAD", "X@GRAD")
                   .kernels(byte_kernels_everywhere(same_elements_grad)));
}

void add_unsqueeze(OpRegistry& registry) {
  const char* doc = "dimensions of Out that X does not have, from the end if negative";
  registry.add(OpDef("unsqueeze")
                   .doc("Out = X with new dimensions of extent 1.")
                   .input("X", "any shape")
                   .output("Out", "extents of X and of 1, dtype of X")
                   .required_attr("axes", Ints{}, doc)
                   .infer(infer_as<unsqueezed>)
                   .in_place("X", "Out")
                   .view("X", "Out")
                   .kernels(byte_kernels_everywhere(same_elements))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(declare_adjoint("unsqueeze", "X@GRAD = the elements of Out@GRAD in the shape of X.")
                   .required_attr("axes", Ints{}, doc)
                   .infer(infer_as<unsqueezed>)
                   .view("Out@GRAD", "X@GRAD")
                   .kernels(byte_kernels_everywhere(same_elements_grad)));
}

}  // namespace

void register_squeeze_ops(OpRegistry& registry) {
  add_squeeze(registry);
  add_unsqueeze(registry);
}

}  // namespace fluidcore
