#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/strided_kernels.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

// How often X is repeated along a dimension.
std::int64_t times(std::int64_t x, std::int64_t out) {
  return x == 0 ? 0 : out / x;
}

std::vector<cpu::Segments> repeats(const KernelContext& /*context*/,
                                   const Shape& x,
                                   const Shape& out) {
  std::vector<cpu::Segments> segments;
  for (std::size_t d = 0; d < out.rank(); ++d) {
    const cpu::Segment all{
        .to = 0, .from = 0, .count = x[d], .repeats = times(x[d], out[d]), .period = x[d]};
    segments.push_back({all});
  }
  return segments;
}

// The sum over all that an element was repeated to.
template <class T>
Kernel repeat_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx || dx.size() == 0) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const Shape x = with_rank(dx.shape(), dout.shape().rank());
  Ints extents;
  std::vector<bool> reduced;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    extents.push_back(times(x[d], dout.shape()[d]));
    extents.push_back(x[d]);
    reduced.push_back(true);
    reduced.push_back(false);
  }
  const Shape all(std::move(extents));
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::Reduction<SumOf, T> sum(context.device(), context.scratch(), all, reduced);
      return Kernel::enqueued([=] { sum.run(cuda::Elements<T>{dout.data()}, dx.data()); });
    }
  }
  const auto sum = std::make_shared<cpu::Reduction<SumOf, T>>(all, reduced);
  return [=] { sum->run(dout.data(), dx.data()); };
}

std::int64_t checked_product(const InferContext& context, std::int64_t extent, std::int64_t times) {
  if (times == 0 || extent == 0) return 0;
  std::int64_t product = 0;
  require(!__builtin_mul_overflow(extent, times, &product), context.type(),
          ": extents must have a product that can be counted, got ", extent, " * ", times);
  return extent == -1 ? -1 : product;
}

// X, with extents of 1 in front where it has fewer than `times`, or the other way round.
TensorSpec repeated(const InferContext& context, const char* attr) {
  const TensorSpec& x = context.input("X");
  Shape times(context.attr<Ints>(attr));
  require(std::all_of(times.begin(), times.end(), [](std::int64_t t) { return t >= 0; }),
          context.type(), ": ", attr, " must be at least 0, got ", times);
  const std::size_t rank = std::max(x.shape.rank(), times.rank());
  times = with_rank(times, rank);
  Shape out = with_rank(x.shape, rank);
  for (std::size_t d = 0; d < rank; ++d) out[d] = checked_product(context, out[d], times[d]);
  return {std::move(out), x.dtype};
}

TensorSpec expanded(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const auto& times = context.attr<Ints>("expand_times");
  require(times.size() == x.shape.rank(), context.type(),
          ": expand_times must hold a number for each dimension of X, got X ", x.shape,
          ", expand_times ", Shape(times));
  return repeated(context, "expand_times");
}

TensorSpec tiled(const InferContext& context) {
  return repeated(context, "repeat_times");
}

TensorSpec broadcast_to_spec(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const Shape shape(context.attr<Ints>("shape"));
  bool fits = x.shape.rank() <= shape.rank();
  const std::size_t added = fits ? shape.rank() - x.shape.rank() : 0;
  Shape out = shape;
  for (std::size_t d = 0; fits && d < out.rank(); ++d) {
    const std::int64_t extent = d < added ? 1 : x.shape[d - added];
    if (out[d] == -1 && d >= added) out[d] = extent;
    fits = shape[d] >= (d < added ? 0 : -1) &&
           (extent == 1 || shape[d] == -1 || compatible(extent, shape[d]));
  }
  require(fits, context.type(), ": shape must be one that X can be repeated to, got X ", x.shape,
          ", shape ", shape);
  return {std::move(out), x.dtype};
}

void add_repeat(OpRegistry& registry,
                const std::string& type,
                std::string doc,
                const std::string& attr,
                const std::string& attr_doc,
                const InferFn& infer) {
  registry.add(OpDef(type)
                   .doc(std::move(doc))
                   .input("X", "any shape")
                   .output("Out", "X, repeated")
                   .required_attr(attr, Ints{}, attr_doc)
                   .infer(infer)
                   .kernels(byte_kernels_everywhere(take<repeats>))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(
      declare_adjoint(type, "X@GRAD = the sum of Out@GRAD over all that X was repeated to.")
          .required_attr(attr, Ints{}, attr_doc)
          .infer(infer)
          .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
            return repeat_grad<typename decltype(tag)::type>;
          })));
}

}  // namespace

void register_repeat_ops(OpRegistry& registry) {
  add_repeat(registry, "expand", "Out = X, repeated along each of its dimensions.", "expand_times",
             "how often, for each dimension of X", infer_as<expanded>);
  add_repeat(registry, "tile", "Out = X, repeated along its last dimensions and new ones.",
             "repeat_times",
             "how often, for the last dimensions; for more than X has, new ones in front",
             infer_as<tiled>);
  add_repeat(registry, "broadcast_to", "Out = X, repeated where its extent is 1.", "shape",
             "extents of Out; -1: that of X", infer_as<broadcast_to_spec>);
}

}  // namespace fluidcore
