#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/max_grad.h"
#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/kernels/cpu/transpose.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// Which dimensions of an input of this rank an operator reduces.
template <class Context>
std::vector<bool> reduced_axes(const Context& context, std::size_t rank) {
  if (context.type().starts_with("mean") || context.template attr<bool>("reduce_all")) {
    return std::vector<bool>(rank, true);
  }
  const auto& dims = context.template attr<std::vector<std::int64_t>>("dim");
  require(!dims.empty(), context.type(), ": dim must name a dimension, got []; ",
          "write reduce_all=True for all");
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t dim : dims) {
    const std::size_t axis = normalize_axis(dim, rank, context.type());
    require(!reduced[axis], context.type(), ": dim must name each dimension once, got ",
            Attribute(dims), " for an input of rank ", rank);
    reduced[axis] = true;
  }
  return reduced;
}

// How many elements of X are behind one element of Out.
std::int64_t reduced_count(const Shape& x, const std::vector<bool>& reduced) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (reduced[axis]) count *= x[axis];
  }
  return count;
}

// x with 1 in place of the reduced extents: the shape of Out, with the rank of X.
Shape kept_shape(const Shape& x, const std::vector<bool>& reduced) {
  Shape kept = x;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (reduced[axis]) kept[axis] = 1;
  }
  return kept;
}

template <class Operation, bool divides, class T>
Kernel reduce(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  if (out.size() == 0) return nothing_to_do();
  const std::vector<bool> reduced = reduced_axes(context, x.shape().rank());
  const auto reduction = std::make_shared<cpu::Reduction<Operation, T>>(x.shape(), reduced);
  const auto divisor = divides ? static_cast<double>(reduced_count(x.shape(), reduced)) : 1.0;
  return [=] { reduction->run(x.data(), out.data(), divisor); };
}

// X@GRAD = Out@GRAD / count, repeated over the reduced dimensions.
template <bool divides, class T>
Kernel spread_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx || dx.size() == 0) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const Shape& x = dx.shape();
  const std::vector<bool> reduced = reduced_axes(context, x.rank());
  const auto nest =
      std::make_shared<const cpu::BroadcastNest>(x, std::vector{kept_shape(x, reduced)});
  const Scale scale{divides ? 1.0 / static_cast<double>(reduced_count(x, reduced)) : 1.0};
  return [=] { cpu::broadcast_elementwise(*nest, scale, dx.data(), dout.data()); };
}

// The dimensions that are kept, and then those that are reduced, each in their order.
std::vector<std::size_t> kept_first(const std::vector<bool>& reduced) {
  std::vector<std::size_t> axes(reduced.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_partition(axes.begin(), axes.end(), [&](std::size_t axis) { return !reduced[axis]; });
  return axes;
}

Shape permuted(const Shape& shape, const std::vector<std::size_t>& axes) {
  std::vector<std::int64_t> extents(axes.size());
  for (std::size_t place = 0; place < axes.size(); ++place) extents[place] = shape[axes[place]];
  return Shape(std::move(extents));
}

std::vector<std::size_t> inverse(const std::vector<std::size_t>& axes) {
  std::vector<std::size_t> places(axes.size());
  for (std::size_t place = 0; place < axes.size(); ++place) places[axes[place]] = place;
  return places;
}

// X@GRAD = Out@GRAD for the first element of X that equals its maximum, else 0.
template <class T>
Kernel max_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx || dx.size() == 0) return nothing_to_do();
  const auto x = context.input<T>("X");
  const auto out = context.input<T>("Out");
  const auto dout = context.input<T>("Out@GRAD");
  const Shape& shape = x.shape();
  const std::vector<bool> reduced = reduced_axes(context, shape.rank());
  const std::int64_t count = reduced_count(shape, reduced);
  const std::int64_t kept = x.size() / count;
  const auto first = std::find(reduced.begin(), reduced.end(), true) - reduced.begin();
  const auto last = std::find(reduced.rbegin(), reduced.rend(), true).base() - reduced.begin();
  const auto begin = static_cast<std::size_t>(first);
  if (shape.product(begin, static_cast<std::size_t>(last)) == count) {  // they are adjacent
    const std::int64_t outer = shape.product(0, begin);
    return [=] {
      cpu::max_grad(outer, count, kept / outer, x.data(), out.data(), dout.data(), dx.data());
    };
  }
  const std::vector<std::size_t> axes = kept_first(reduced);
  const auto turn = std::make_shared<const cpu::Transpose>(shape, axes, sizeof(T));
  const auto turn_back =
      std::make_shared<const cpu::Transpose>(permuted(shape, axes), inverse(axes), sizeof(T));
  const Tensor rows({Shape{kept, count}, dtype_of<T>});
  return [=] {
    auto* const row = static_cast<T*>(rows.raw());
    turn->run(row, x.data());
    cpu::max_grad(kept, count, 1, row, out.data(), dout.data(), row);
    turn_back->run(dx.data(), row);
  };
}

// What the operator, or the one that it is the gradient of, makes of X.
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

// The dimensions in front of the first that is reduced.
std::size_t kept_dims(const InferContext& context, std::string_view slot) {
  const std::vector<bool> reduced = reduced_axes(context, context.input(slot).shape.rank());
  return static_cast<std::size_t>(std::ranges::find(reduced, true) - reduced.begin());
}

void infer_reduce(InferContext& context) {
  const TensorSpec& x = context.input("X");
  const TensorSpec out = reduced_spec(context);
  const bool is_mean = context.type().ends_with("mean");
  const bool is_total = context.type() == "reduce_sum" || (is_mean && is_floating(x.dtype));
  require(is_total || x.shape.num_elements() != 0 || out.shape.num_elements() == 0, context.type(),
          ": X must have an element to ", is_mean ? "divide by their number" : "choose",
          " along dim, got X ", x.shape);
  context.set_output("Out", out);
}

void infer_reduce_grad(InferContext& context) {
  const TensorSpec out = reduced_spec(context);
  if (context.has_input("Out")) require_spec(context, "Out", out);
  require_spec(context, "Out@GRAD", out);
  infer_grads_like_inputs(context);
}

OpDef with_reduce_attrs(OpDef&& def) {
  return std::move(def)
      .attr("dim", std::vector<std::int64_t>{0},
            "the dimensions to reduce, one or several, counted from the end if negative")
      .attr("keep_dim", false, "whether Out keeps the dimensions, with extent 1")
      .attr("reduce_all", false, "whether to reduce all dimensions, to Out [1]");
}

OpDef reduce_op(std::string type, std::string doc) {
  return with_reduce_attrs(OpDef(std::move(type)))
      .doc(std::move(doc))
      .input("X", "any shape")
      .output("Out", "X without the dimensions dim; [1] if nothing is left")
      .row_dims(kept_dims)
      .infer(infer_reduce);
}

OpDef reduce_grad_op(std::string type, std::string doc) {
  return with_reduce_attrs(OpDef(std::move(type))).doc(std::move(doc)).infer(infer_reduce_grad);
}

template <class Operation, bool divides>
KernelTable reduce_kernels() {
  return cpu_kernels<float, double, Float16, BFloat16, std::int32_t, std::int64_t>(
      [](auto tag) -> KernelFactory {
        return reduce<Operation, divides, typename decltype(tag)::type>;
      });
}

template <bool divides>
KernelTable spread_kernels() {
  return floating_cpu_kernels(
      [](auto tag) -> KernelFactory { return spread_grad<divides, typename decltype(tag)::type>; });
}

const SlotTraits kShapeOnly{.shape_only = true};

void add_mean(OpRegistry& registry) {
  registry.add(OpDef("mean")
                   .doc("Out = the mean of all elements of X.")
                   .input("X", "any shape, floating")
                   .output("Out", "[1], dtype of X")
                   .infer(infer_reduce)
                   .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
                     return reduce<cpu::SumOf, true, typename decltype(tag)::type>;
                   }))
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(OpDef("mean_grad")
                   .doc("X@GRAD = Out@GRAD / number of elements of X.")
                   .input("X", "input of the forward operator", kShapeOnly)
                   .input("Out@GRAD", "gradient of Out, [1]")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .infer(infer_reduce_grad)
                   .kernels(spread_kernels<true>())
                   .grad(adjoint_grad({.type = "mean"})));
}

void add_reduce_sum(OpRegistry& registry) {
  const GradMaker grad = standard_grad({.inputs = {"X"}, .differentiable = {"X"}});
  registry.add(reduce_op("reduce_sum", "Out = the sum of X over the dimensions dim.")
                   .kernels(reduce_kernels<cpu::SumOf, false>())
                   .grad(grad));
  registry.add(reduce_grad_op("reduce_sum_grad", "X@GRAD = Out@GRAD, repeated.")
                   .input("X", "input of the forward operator", kShapeOnly)
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .kernels(spread_kernels<false>())
                   .grad(adjoint_grad({.type = "reduce_sum"})));
  registry.add(
      reduce_op("reduce_mean", "Out = the mean of X over the dimensions dim; integers toward zero.")
          .kernels(reduce_kernels<cpu::SumOf, true>())
          .grad(grad));
  registry.add(reduce_grad_op("reduce_mean_grad",
                              "X@GRAD = Out@GRAD / number of reduced elements, repeated.")
                   .input("X", "input of the forward operator", kShapeOnly)
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .kernels(spread_kernels<true>())
                   .grad(adjoint_grad({.type = "reduce_mean"})));
}

// Which elements are the maximum does not change with a small change of X.
void decompose_max_grad(Decomposition& d) {
  const Expr x = d.input("X");
  const Expr out = d.input("Out");
  const Expr is_max =
      d.constant("reduce_max_grad", {{"X", x}, {"Out", out}, {"Out@GRAD", d.filled_like(out, 1.0)}},
                 d.attrs(), "X@GRAD");
  const Expr spread =
      d.op("reduce_sum_grad", {{"X", x}, {"Out@GRAD", d.input("Out@GRAD")}}, d.attrs(), "X@GRAD");
  d.set("X@GRAD", spread * is_max);
}

void add_reduce_max(OpRegistry& registry) {
  registry.add(
      reduce_op("reduce_max",
                "Out = the maximum of X over the dimensions dim; NaN if there is one.")
          .kernels(reduce_kernels<cpu::MaxOf, false>())
          .grad(standard_grad({.inputs = {"X"}, .outputs = {"Out"}, .differentiable = {"X"}})));
  registry.add(reduce_grad_op("reduce_max_grad",
                              "X@GRAD = Out@GRAD for the first element equal to its maximum, "
                              "else 0.")
                   .input("X", "input of the forward operator", {.needs_no_gradient = true})
                   .input("Out", "output of the forward operator", {.needs_no_gradient = true})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .in_place("X", "X@GRAD")
                   .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
                     return max_grad<typename decltype(tag)::type>;
                   }))
                   .decompose(decompose_max_grad));
}

}  // namespace

void register_reduction_ops(OpRegistry& registry) {
  add_mean(registry);
  add_reduce_sum(registry);
  add_reduce_max(registry);
}

}  // namespace fluidcore
