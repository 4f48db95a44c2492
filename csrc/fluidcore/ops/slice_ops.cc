#include <algorithm>
#include <utility>
#include <vector>

#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/strided_kernels.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

std::vector<cpu::Segments> cropped(const KernelContext& context,
                                   const Shape& /*x*/,
                                   const Shape& out) {
  const auto& offsets = context.attr<Ints>("offsets");
  std::vector<cpu::Segments> segments;
  for (std::size_t d = 0; d < out.rank(); ++d) {
    const cpu::Segment part{.to = 0, .from = offsets[d], .count = out[d]};
    segments.push_back({part});
  }
  return segments;
}

TensorSpec cropped_spec(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const Shape shape =
      context.has_input("Y") ? context.input("Y").shape : Shape(context.attr<Ints>("shape"));
  const Shape offsets(context.attr<Ints>("offsets"));
  const char* what = context.has_input("Y") ? ", Y " : ", shape ";
  bool fits = shape.rank() == x.shape.rank() && offsets.rank() == shape.rank();
  for (std::size_t d = 0; fits && d < shape.rank(); ++d) {
    const bool known = shape[d] >= 0;
    fits = offsets[d] >= 0 && (known || context.has_input("Y")) &&
           (x.shape[d] == -1 || std::max<std::int64_t>(shape[d], 0) <= x.shape[d] - offsets[d]);
  }
  require(fits, context.type(), ": offsets and shape must lie in X in every dimension, got X ",
          x.shape, what, shape, ", offsets ", offsets);
  return {shape, x.dtype};
}

OpDef with_crop_attrs(OpDef&& def) {
  SlotTraits traits = kShapeOnly;
  traits.optional = true;
  return std::move(def)
      .input("Y", "its shape is that of Out, in place of the attribute", std::move(traits))
      .required_attr("offsets", Ints{}, "the index of Out's first element in X")
      .attr("shape", Ints{}, "extents of Out, where there is no Y")
      .infer(infer_as<cropped_spec>);
}

void add_crop(OpRegistry& registry) {
  registry.add(
      with_crop_attrs(
          OpDef("crop").doc("Out = the part of X that begins at offsets.").input("X", "any shape"))
          .output("Out", "shape of Y or of the attribute, dtype of X")
          .kernels(byte_kernels<take<cropped>>())
          .grad(standard_grad({.inputs = {"X", "Y"}, .differentiable = {"X"}})));
  registry.add(with_crop_attrs(declare_adjoint("crop", "X@GRAD = Out@GRAD in its place, else 0."))
                   .kernels(byte_kernels<take_grad<cropped>>())
                   .grad(adjoint_grad({.type = "crop", .kept = {"Y"}})));
}

}  // namespace

void register_slice_ops(OpRegistry& registry) {
  add_crop(registry);
}

}  // namespace fluidcore
