#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/strided_kernels.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

template <class Context>
std::vector<bool> flipped_axes(const Context& context, std::size_t rank) {
  const auto& axes = context.template attr<Ints>("axis");
  std::vector<bool> flipped(rank, false);
  for (const std::int64_t given : axes) {
    const std::size_t axis = normalize_axis(given, rank, context.type());
    require(!flipped[axis], context.type(), ": axis must name each dimension once, got ",
            Shape(axes), " for an input of rank ", rank);
    flipped[axis] = true;
  }
  return flipped;
}

std::vector<cpu::Segments> flipped(const KernelContext& context,
                                   const Shape& x,
                                   const Shape& /*out*/) {
  std::vector<cpu::Segments> segments;
  const std::vector<bool> flipped = flipped_axes(context, x.rank());
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const cpu::Segment forwards{.to = 0, .from = 0, .count = x[d]};
    const cpu::Segment backwards{.to = 0, .from = x[d] - 1, .count = x[d], .step = -1};
    segments.push_back({flipped[d] ? backwards : forwards});
  }
  return segments;
}

void add_flip(OpRegistry& registry) {
  registry.add(OpDef("flip")
                   .doc("Out = X with the elements of some dimensions in reverse order.")
                   .input("X", "any shape")
                   .output("Out", "shape and dtype of X")
                   .required_attr("axis", Ints{}, "the dimensions; from the end if negative")
                   .infer([](InferContext& context) {
                     flipped_axes(context, context.input("X").shape.rank());
                     context.set_output("Out", context.input("X"));
                   })
                   .kernels(byte_kernels_everywhere(take<flipped>))
                   .grad(adjoint_grad({.from = "X", .to = "Out", .type = "flip"})));
}

// How far each dimension of `shape` is rolled, in [0, its extent).
Ints total_shifts(const KernelContext& context, const Shape& shape) {
  const auto& shifts = context.attr<Ints>("shifts");
  const auto& axes = context.attr<Ints>("axis");
  Ints totals(shape.rank(), 0);
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    const std::size_t d = axes.empty() ? 0 : normalize_axis(axes[i], shape.rank(), context.type());
    const std::int64_t extent = shape[d];
    if (extent == 0) continue;
    const std::int64_t shift = (shifts[i] % extent + extent) % extent;
    totals[d] = totals[d] < extent - shift ? totals[d] + shift : totals[d] - (extent - shift);
  }
  return totals;
}

Kernel roll(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const bool is_flat = context.attr<Ints>("axis").empty() || x.shape().rank() == 0;
  const Shape shape = is_flat ? Shape{x.size()} : x.shape();
  const Ints shifts = total_shifts(context, shape);
  std::vector<cpu::Segments> segments(shape.rank());
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const std::int64_t extent = shape[d];
    if (extent == 0) continue;
    const cpu::Segment all{.to = 0, .from = 0, .count = extent};
    cpu::add_periodic(segments[d], all, extent, -shifts[d], extent - shifts[d]);
  }
  return copy_pairs(context, cpu::strided_pairs(shape, shape, segments), x, out);
}

void infer_roll(InferContext& context) {
  const TensorSpec& x = context.input("X");
  const Shape shifts(context.attr<Ints>("shifts"));
  const Shape axes(context.attr<Ints>("axis"));
  const bool fits = axes.rank() == 0 ? shifts.rank() == 1 : shifts.rank() == axes.rank();
  require(fits,
          "roll: shifts must hold a number for each of axis, or one without axis, got shifts ",
          shifts, ", axis ", axes);
  const std::size_t rank = std::max<std::size_t>(x.shape.rank(), 1);  // a number counts as [1]
  for (const std::int64_t axis : axes) normalize_axis(axis, rank, "roll");
  for (const std::int64_t shift : shifts) {
    require(shift != std::numeric_limits<std::int64_t>::min(),
            "roll: shifts must have a negative, got ", shifts);
  }
  context.set_output("Out", x);
}

void add_roll(OpRegistry& registry) {
  const GradMaker adjoint = adjoint_grad({.from = "X", .to = "Out", .type = "roll"});
  registry.add(OpDef("roll")
                   .doc("Out = X, its elements moved on by shifts; what falls out at the end comes "
                        "in again in front.")
                   .input("X", "any shape")
                   .output("Out", "shape and dtype of X")
                   .required_attr("shifts", Ints{}, "how far, for each of axis; back if negative")
                   .attr("axis", Ints{},
                         "the dimensions, one perhaps several times, from the end if negative; "
                         "empty: of all elements in order")
                   .infer(infer_roll)
                   .kernels(byte_kernels_everywhere(roll))
                   .grad([adjoint](GradContext& context) {
                     std::vector<OpDesc> ops = adjoint(context);
                     for (OpDesc& op : ops) {
                       auto shifts = std::get<Ints>(op.attr("shifts"));
                       for (std::int64_t& shift : shifts) shift = -shift;
                       op.set_attr("shifts", std::move(shifts));
                     }
                     return ops;
                   }));
}

}  // namespace

void register_roll_ops(OpRegistry& registry) {
  add_flip(registry);
  add_roll(registry);
}

}  // namespace fluidcore
