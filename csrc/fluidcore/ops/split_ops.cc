#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/slabs.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

// The parts of X along an axis, of the extents `sections`; without these of one extent.
Kernel parts_of(const KernelContext& context, const char* slot, const Ints& sections) {
  const auto x = context.raw_input("X");
  const std::size_t axis = axis_of(context, x.shape());
  const std::size_t count = context.output_count(slot);
  Slabs<Arg<void>> slabs(x.spec(), axis);
  for (std::size_t i = 0; i < count; ++i) {
    TensorSpec part = x.spec();
    part.shape[axis] =
        sections.empty() ? x.shape()[axis] / static_cast<std::int64_t>(count) : sections[i];
    slabs.add(optional_raw_output(context, slot, i), part, axis);
  }
  return cut(context.device(), std::move(slabs), x);
}

std::optional<std::int64_t> begin_of(const InferContext& context,
                                     std::size_t count,
                                     const Ints& sections,
                                     std::size_t index) {
  const Shape& x = context.input("X").shape;
  const std::size_t axis = axis_of(context, x);
  const auto part = static_cast<std::ptrdiff_t>(index);
  const std::int64_t before =
      sections.empty()
          ? part * (x[axis] / static_cast<std::int64_t>(count))
          : std::accumulate(sections.begin(), sections.begin() + part, std::int64_t{0});
  return begin_of_part(x, axis, before);
}

Kernel split(const KernelContext& context) {
  return parts_of(context, "Out", context.attr<Ints>("sections"));
}

Kernel unstack(const KernelContext& context) {
  return parts_of(context, "Y", {});
}

void infer_split(InferContext& context) {
  TensorSpec part = context.input("X");
  const std::size_t axis = axis_of(context, part.shape);
  const std::int64_t extent = part.shape[axis];
  const auto count = static_cast<std::int64_t>(context.output_count("Out"));
  const auto& sections = context.attr<Ints>("sections");
  if (sections.empty()) {
    const std::int64_t num = context.attr<std::int64_t>("num");
    require(num > 0, "split: sections must be given or num be at least 1, got num ", num);
    require(num == count, "split: Out must hold num variables, got num ", num, ", ", count,
            " variables");
    require(extent == -1 || extent % num == 0, "split: num must divide the extent of axis ", axis,
            ", got num ", num, ", X ", part.shape);
    if (extent != -1) part.shape[axis] = extent / num;
    for (std::size_t i = 0; i < context.output_count("Out"); ++i) {
      context.set_output("Out", part, i);
    }
    return;
  }
  require(static_cast<std::int64_t>(sections.size()) == count,
          "split: Out must hold a variable for each of sections, got sections ", Shape(sections),
          ", ", count, " variables");
  const bool valid = std::all_of(sections.begin(), sections.end(),
                                 [](std::int64_t section) { return section >= 0; });
  std::int64_t total = 0;
  for (const std::int64_t section : sections) {
    total = valid ? checked_sum(context, total, section) : 0;
  }
  require(valid && compatible(extent, total), "split: sections must add up to the extent of axis ",
          axis, ", got sections ", Shape(sections), ", X ", part.shape);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    part.shape[axis] = sections[i];
    context.set_output("Out", part, i);
  }
}

// The gradient maker of an operator that cuts X into the parts of a slot: operator `type` puts them
// together again, in its slot of the same name.
GradMaker joined_by(const std::string& type, const std::string& slot) {
  return [=](GradContext& context) -> std::vector<OpDesc> {
    const std::vector<std::string> grads = context.input_grad("X");
    if (grads[0] == kEmptyName) return {};
    return {OpDesc(type, {{"X", context.output_grad(slot)}}, {{slot, grads}},
                   {{"axis", context.forward().attr("axis")}})};
  };
}

void add_split(OpRegistry& registry) {
  registry.add(
      OpDef("split")
          .doc("Out = the parts that X falls into when it is cut along dimension axis.")
          .input("X", "any shape of rank 1 or more")
          .output("Out", "the parts, in order", {.list = true})
          .attr("sections", Ints{}, "extents of the parts; empty: equal parts")
          .attr("num", std::int64_t{0}, "number of equal parts, without sections")
          .attr("axis", std::int64_t{0}, "the dimension that is cut; from the end if negative")
          .dims_attr("axis")
          .infer(infer_split)
          .kernels(byte_kernels_everywhere(split))
          .view("X", "Out",
                [](const InferContext& context, std::size_t index) {
                  return begin_of(context, context.output_count("Out"),
                                  context.attr<Ints>("sections"), index);
                })
          .grad(joined_by("concat", "Out")));
}

void infer_unstack(InferContext& context) {
  const TensorSpec& x = context.input("X");
  const std::size_t axis = axis_of(context, x.shape);
  const auto count = static_cast<std::int64_t>(context.output_count("Y"));
  const std::int64_t num = context.attr<std::int64_t>("num");
  require(num == 0 || num == count, "unstack: Y must hold num variables, got num ", num, ", ",
          count, " variables");
  require(compatible(x.shape[axis], count),
          "unstack: Y must hold a variable for each index of axis ", axis, ", got X ", x.shape,
          ", ", count, " variables");
  Ints extents = x.shape.extents();
  extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
  const TensorSpec part{Shape(std::move(extents)), x.dtype};
  for (std::size_t i = 0; i < context.output_count("Y"); ++i) context.set_output("Y", part, i);
}

void add_unstack(OpRegistry& registry) {
  registry.add(
      OpDef("unstack")
          .doc("Y = the parts of X that have one index of dimension axis, without this dimension.")
          .input("X", "any shape of rank 1 or more")
          .output("Y", "the parts, in order", {.list = true})
          .attr("axis", std::int64_t{0}, "the dimension; from the end if negative")
          .attr("num", std::int64_t{0}, "the number of parts; 0: as many as Y holds")
          .infer(infer_unstack)
          .kernels(byte_kernels_everywhere(unstack))
          .view("X", "Y",
                [](const InferContext& context, std::size_t index) {
                  return begin_of(context, context.output_count("Y"), {}, index);
                })
          .grad(joined_by("stack", "Y")));
}

}  // namespace

void register_split_ops(OpRegistry& registry) {
  add_split(registry);
  add_unstack(registry);
}

}  // namespace fluidcore
