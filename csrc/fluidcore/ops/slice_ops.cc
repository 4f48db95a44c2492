#include <algorithm>
#include <string>
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
          .kernels(byte_kernels_everywhere(take<cropped>))
          .grad(standard_grad({.inputs = {"X", "Y"}, .differentiable = {"X"}})));
  registry.add(with_crop_attrs(declare_adjoint("crop", "X@GRAD = Out@GRAD in its place, else 0."))
                   .kernels(byte_kernels_everywhere(take_grad<cropped>))
                   .grad(adjoint_grad({.type = "crop", .kept = {"Y"}})));
}

// The indices start, start + step, ... of one dimension.
struct Range {
  std::int64_t start;
  std::int64_t count;
  std::int64_t step;
};

// As NumPy means start:end:stride of a dimension; indices outside are the nearest inside.
Range range_of(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t stride) {
  const std::int64_t lowest = stride > 0 ? 0 : -1;
  const std::int64_t highest = stride > 0 ? extent : extent - 1;
  const auto inside = [=](std::int64_t index) {
    return std::clamp(index < 0 ? index + extent : index, lowest, highest);
  };
  const std::int64_t first = inside(start);
  const std::int64_t distance = inside(end) - first;
  if (distance == 0 || (distance > 0) != (stride > 0)) return {0, 0, 1};
  const std::int64_t count = 1 + (distance - (stride > 0 ? 1 : -1)) / stride;
  return {first, count, count == 1 ? 1 : stride};
}

// Of each dimension of X; count -1 where its extent is unknown.
template <class Context>
std::vector<Range> ranges_of(const Context& context, const Shape& x) {
  const bool strided = context.type().starts_with("strided");
  const auto& axes = context.template attr<Ints>("axes");
  const auto& starts = context.template attr<Ints>("starts");
  const auto& ends = context.template attr<Ints>("ends");
  const Ints strides = strided ? context.template attr<Ints>("strides") : Ints(axes.size(), 1);
  require(
      starts.size() == axes.size() && ends.size() == axes.size() && strides.size() == axes.size(),
      context.type(), ": starts", strided ? ", ends and strides" : " and ends",
      " must hold a number for each of axes, got axes ", Shape(axes), ", starts ", Shape(starts),
      ", ends ", Shape(ends), strided ? ", strides " : "",
      strided ? to_string(Shape(strides)) : "");
  std::vector<Range> ranges;
  for (const std::int64_t extent : x) ranges.push_back({0, extent, 1});
  std::vector<bool> seen(x.rank(), false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalize_axis(axes[i], x.rank(), context.type());
    require(!seen[axis], context.type(), ": axes must name each dimension once, got ", Shape(axes),
            " for an input of rank ", x.rank());
    require(strides[i] != 0, context.type(), ": strides must not be 0, got ", Shape(strides));
    seen[axis] = true;
    if (x[axis] != -1) ranges[axis] = range_of(x[axis], starts[i], ends[i], strides[i]);
  }
  return ranges;
}

std::vector<cpu::Segments> sliced(const KernelContext& context,
                                  const Shape& x,
                                  const Shape& /*out*/) {
  std::vector<cpu::Segments> segments;
  for (const Range& range : ranges_of(context, x)) {
    const cpu::Segment part{.to = 0, .from = range.start, .count = range.count, .step = range.step};
    segments.push_back({part});
  }
  return segments;
}

TensorSpec sliced_spec(const InferContext& context) {
  TensorSpec out = context.input("X");
  const std::vector<Range> ranges = ranges_of(context, out.shape);
  for (std::size_t d = 0; d < ranges.size(); ++d) out.shape[d] = ranges[d].count;
  return out;
}

OpDef with_slice_attrs(OpDef&& def, bool strided) {
  OpDef with =
      std::move(def)
          .required_attr("axes", Ints{}, "the dimensions; from the end if negative")
          .required_attr("starts", Ints{},
                         "for each of axes the first index; from the end if negative")
          .required_attr("ends", Ints{}, "for each of axes the index to stop before, likewise")
          .infer(infer_as<sliced_spec>);
  if (!strided) return with;
  return std::move(with).required_attr("strides", Ints{},
                                       "for each of axes the distance between indices");
}

void add_slice(OpRegistry& registry, const std::string& type, const std::string& doc) {
  const bool strided = type.starts_with("strided");
  registry.add(with_slice_attrs(OpDef(type).doc(doc).input("X", "any shape"), strided)
                   .output("Out", "the elements of X at these indices")
                   .kernels(byte_kernels_everywhere(take<sliced>))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(with_slice_attrs(
                   declare_adjoint(type, "X@GRAD = Out@GRAD at these indices, else 0."), strided)
                   .kernels(byte_kernels_everywhere(take_grad<sliced>)));
}

}  // namespace

void register_slice_ops(OpRegistry& registry) {
  add_crop(registry);
  add_slice(registry, "slice",
            "Out = the part of X from starts to ends; indices outside are the nearest inside.");
  add_slice(registry, "strided_slice",
            "Out = every stride-th element of X from starts to ends, backwards where the stride is "
            "negative; indices outside are the nearest inside.");
}

}  // namespace fluidcore
