#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/linear_recurrence.h"
#include "fluidcore/kernels/cpu/max_grad.h"
#include "fluidcore/kernels/cpu/transpose.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/reduction.h"
#include "fluidcore/ops/reduction_kernel.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/scratch.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

template <class Operation, bool divides, class T>
Kernel reduce(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  if (out.size() == 0) return nothing_to_do();
  const std::vector<bool> reduced = reduced_axes(context, x.shape().rank());
  const auto divisor = divides ? static_cast<double>(reduced_count(x.shape(), reduced)) : 1.0;
  return reduction<Operation>(context, x.shape(), reduced, x, out, divisor);
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
  return broadcast_kernel(nest, scale, dx, dout);
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

// X@GRAD by grad(outer, count, inner, x, dx), where the middle dimension is what is reduced; `dx`
// may be x.
template <class T, class F>
Kernel grad_of_sequences(const KernelContext& context, Arg<T> dx, const F& grad) {
  const auto x = context.input<T>("X");
  const Shape& shape = x.shape();
  const std::vector<bool> reduced = reduced_axes(context, shape.rank());
  const std::int64_t count = reduced_count(shape, reduced);
  const std::int64_t kept = x.size() / count;
  const auto first = std::find(reduced.begin(), reduced.end(), true) - reduced.begin();
  const auto last = std::find(reduced.rbegin(), reduced.rend(), true).base() - reduced.begin();
  const auto begin = static_cast<std::size_t>(first);
  if (shape.product(begin, static_cast<std::size_t>(last)) == count) {  // they are adjacent
    const std::int64_t outer = shape.product(0, begin);
    return [=] { grad(outer, count, kept / outer, x.data(), dx.data()); };
  }
  const std::vector<std::size_t> axes = kept_first(reduced);
  const auto turn = std::make_shared<const cpu::Transpose>(shape, axes, sizeof(T));
  const auto turn_back =
      std::make_shared<const cpu::Transpose>(permuted(shape, axes), inverse(axes), sizeof(T));
  const Tensor rows({Shape{kept, count}, dtype_of<T>});
  return [=] {
    auto* const row = static_cast<T*>(rows.raw());
    turn->run(row, x.data());
    grad(kept, count, 1, row, row);
    turn_back->run(dx.data(), row);
  };
}

// X@GRAD = Out@GRAD for the first element of X that equals its maximum, or minimum, else 0.
template <bool of_minimum, class T>
Kernel extreme_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx || dx.size() == 0) return nothing_to_do();
  const auto out = context.input<T>("Out");
  const auto dout = context.input<T>("Out@GRAD");
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::ReducedElements elements(dx.shape(), reduced_axes(context, dx.shape().rank()));
      return Kernel::enqueued([=, &device = context.device(), x = context.input<T>("X")] {
        cuda::for_each(device, elements.results, cuda::ExtremeGrad<of_minimum>{elements}, x.data(),
                       out.data(), dout.data(), dx.data());
      });
    }
  }
  return grad_of_sequences(
      context, dx,
      [=](std::int64_t outer, std::int64_t count, std::int64_t inner, const T* x, T* to) {
        cpu::max_grad<of_minimum>(outer, count, inner, x, out.data(), dout.data(), to);
      });
}

// X@GRAD = Out@GRAD times the product of the other elements.
template <class T>
Kernel reduced_product_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx || dx.size() == 0) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const ScratchPtr& scratch = context.scratch();
  scratch->reserve(static_cast<std::size_t>(dx.size()) * sizeof(double));
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::ReducedElements elements(dx.shape(), reduced_axes(context, dx.shape().rank()));
      return Kernel::enqueued(
          [=, &device = context.device(), scratch = scratch, x = context.input<T>("X")] {
            cuda::for_each(device, elements.results, cuda::ProductGrad{elements}, x.data(),
                           dout.data(), reinterpret_cast<double*>(scratch->data()), dx.data());
          });
    }
  }
  return grad_of_sequences(context, dx,
                           [=, scratch = scratch](std::int64_t outer, std::int64_t count,
                                                  std::int64_t inner, const T* x, T* to) {
                             cpu::product_grad({outer, count, inner, false}, x, dout.data(),
                                               reinterpret_cast<double*>(scratch->data()), to);
                           });
}

void infer_reduce(InferContext& context) {
  const TensorSpec& x = context.input("X");
  const TensorSpec out = reduced_spec(context);
  const bool is_mean = context.type().ends_with("mean");
  const bool chooses = context.type().ends_with("max") || context.type().ends_with("min");
  const bool needs_element = chooses || (is_mean && !is_floating(x.dtype));
  require(!needs_element || x.shape.num_elements() != 0 || out.shape.num_elements() == 0,
          context.type(), ": X must have an element to ",
          is_mean ? "divide by their number" : "choose", " along dim, got X ", x.shape);
  context.set_output("Out", out);
}

OpDef reduce_op(std::string type, std::string doc) {
  return declare_reduce(std::move(type), std::move(doc)).infer(infer_reduce);
}

template <class Operation, class... T>
KernelTable reduce_kernels() {
  return kernels_everywhere<T...>([](auto tag) -> KernelFactory {
    return reduce<Operation, false, typename decltype(tag)::type>;
  });
}

template <bool divides>
KernelTable sum_kernels() {
  return kernels_everywhere<float, double, BFloat16, std::int32_t, std::int64_t>(
      [](auto tag) -> KernelFactory {
        return reduce<SumOf, divides, typename decltype(tag)::type>;
      });
}

// Of which narrower elements are converted: they share these loops.
template <class Operation>
KernelTable wide_kernels() {
  return reduce_kernels<Operation, float, double, std::int64_t>();
}

template <bool divides>
KernelTable spread_kernels() {
  return floating_kernels_everywhere(
      [](auto tag) -> KernelFactory { return spread_grad<divides, typename decltype(tag)::type>; });
}

void add_mean(OpRegistry& registry) {
  registry.add(
      OpDef("mean")
          .doc("Out = the mean of all elements of X.")
          .input("X", "any shape, floating")
          .output("Out", "[1], dtype of X")
          .infer(infer_reduce)
          .kernels(kernels_everywhere<float, double, BFloat16>([](auto tag) -> KernelFactory {
            return reduce<SumOf, true, typename decltype(tag)::type>;
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
                   .kernels(sum_kernels<false>())
                   .grad(grad));
  registry.add(declare_reduce_grad("reduce_sum_grad", "X@GRAD = Out@GRAD, repeated.")
                   .input("X", "input of the forward operator", kShapeOnly)
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .kernels(spread_kernels<false>())
                   .grad(adjoint_grad({.type = "reduce_sum"})));
  registry.add(
      reduce_op("reduce_mean", "Out = the mean of X over the dimensions dim; integers toward zero.")
          .kernels(sum_kernels<true>())
          .grad(grad));
  registry.add(declare_reduce_grad("reduce_mean_grad",
                                   "X@GRAD = Out@GRAD / number of reduced elements, repeated.")
                   .input("X", "input of the forward operator", kShapeOnly)
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .kernels(spread_kernels<true>())
                   .grad(adjoint_grad({.type = "reduce_mean"})));
}

// Which elements are the maximum, or minimum, does not change with a small change of X.
Decompose reduced_choice_grad(const std::string& type) {
  return [type](Decomposition& d) {
    const Expr x = d.input("X");
    const Expr out = d.input("Out");
    const Expr is_chosen =
        d.constant(type + "_grad", {{"X", x}, {"Out", out}, {"Out@GRAD", d.filled_like(out, 1.0)}},
                   d.attrs(), "X@GRAD");
    const Expr spread =
        d.op("reduce_sum_grad", {{"X", x}, {"Out@GRAD", d.input("Out@GRAD")}}, d.attrs(), "X@GRAD");
    d.set("X@GRAD", spread * is_chosen);
  };
}

template <bool of_minimum>
KernelTable extreme_grad_kernels() {
  return kernels_everywhere<float, double, BFloat16>([](auto tag) -> KernelFactory {
    return extreme_grad<of_minimum, typename decltype(tag)::type>;
  });
}

void add_reduce_choice(OpRegistry& registry,
                       const std::string& type,
                       const std::string& chosen,
                       KernelTable kernels,
                       KernelTable grad_kernels) {
  registry.add(
      reduce_op(type, "Out = the " + chosen + " of X over the dimensions dim; NaN if there is one.")
          .kernels(std::move(kernels))
          .grad(standard_grad({.inputs = {"X"}, .outputs = {"Out"}, .differentiable = {"X"}})));
  registry.add(declare_reduce_grad(
                   type + "_grad",
                   "X@GRAD = Out@GRAD for the first element equal to its " + chosen + ", else 0.")
                   .input("X", "input of the forward operator", {.needs_no_gradient = true})
                   .input("Out", "output of the forward operator", {.needs_no_gradient = true})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .in_place("X", "X@GRAD")
                   .kernels(std::move(grad_kernels))
                   .decompose(reduced_choice_grad(type)));
}

// What all elements but one give together along each of the dimensions: the product of those in
// front of it and of those behind.
void decompose_product_grad(Decomposition& d) {
  const Expr x = d.input("X");
  const Expr dout = d.input("Out@GRAD");
  const auto others = [&](const Expr& of, std::int64_t dim) {
    const auto beside = [&](bool behind) {
      return d.op("cumprod", {{"X", of}},
                  {{"axis", dim}, {"exclusive", true}, {"reverse", behind}});
    };
    return beside(false) * beside(true);
  };
  if (d.attr<bool>("reduce_all")) {
    const Expr line = d.op("reshape", {{"X", x}}, {{"shape", Ints{-1}}});
    const Expr grad = dout * others(line, 0);
    return d.set("X@GRAD", d.op("reshape_grad", {{"X", x}, {"Out@GRAD", grad}},
                                {{"shape", Ints{-1}}}, "X@GRAD"));
  }
  Expr grad = d.op("reduce_sum_grad", {{"X", x}, {"Out@GRAD", dout}}, d.attrs(), "X@GRAD");
  Expr left = x;
  for (const std::int64_t dim : d.attr<Ints>("dim")) {
    grad = grad * others(left, dim);
    left = d.op("reduce_prod", {{"X", left}}, {{"dim", Ints{dim}}, {"keep_dim", true}});
  }
  d.set("X@GRAD", grad);
}

void add_reduce_prod(OpRegistry& registry) {
  registry.add(reduce_op("reduce_prod",
                         "Out = the product of X over the dimensions dim; integers wrap around.")
                   .kernels(wide_kernels<ProductOf>())
                   .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(
      declare_reduce_grad("reduce_prod_grad",
                          "X@GRAD = Out@GRAD times the product of the other elements that Out is "
                          "the product of, also where elements are 0.")
          .input("X", "input of the forward operator")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .output("X@GRAD", "gradient of X, shape of X")
          .in_place("X", "X@GRAD")
          .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
            return reduced_product_grad<typename decltype(tag)::type>;
          }))
          .decompose(decompose_product_grad));
}

}  // namespace

void register_reduction_ops(OpRegistry& registry) {
  add_mean(registry);
  add_reduce_sum(registry);
  add_reduce_choice(registry, "reduce_max", "maximum", wide_kernels<MaxOf>(),
                    extreme_grad_kernels<false>());
  add_reduce_choice(registry, "reduce_min", "minimum", wide_kernels<MinOf>(),
                    extreme_grad_kernels<true>());
  add_reduce_prod(registry);
  registry.add(reduce_op("reduce_any", "Out = whether an element of X is true, over dim.")
                   .kernels(reduce_kernels<AnyOf, bool>())
                   .not_differentiable());
  registry.add(reduce_op("reduce_all", "Out = whether all elements of X are true, over dim.")
                   .kernels(reduce_kernels<AllOf, bool>())
                   .not_differentiable());
}

}  // namespace fluidcore
