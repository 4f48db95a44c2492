#include <cstddef>
#include <cstdint>
#include <utility>

#include "fluidcore/kernels/cpu/softmax.h"
#include "fluidcore/kernels/cuda/softmax.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/softmax.h"

namespace fluidcore {

namespace {

// The last dimension is a row, as is a single number; the others count the rows.
struct Rows {
  explicit Rows(const Shape& shape)
      : count(shape.rank() == 0 ? 1 : shape.product(0, shape.rank() - 1)),
        columns(shape.rank() == 0 ? 1 : shape.back()) {}

  std::int64_t count;
  std::int64_t columns;
};

// calculate(rows, columns, in..., out), by rows; on a CUDA device a Body with the columns.
template <class Body, class T, class Calculate, class... In>
Kernel by_rows(const Calculate& calculate, Arg<T> out, Arg<In>... in) {
  const Rows rows(out.shape());
  RowPart part{.out = {out.cell(), rows.count}, .in = {{in.cell(), rows.count}...}};
  part.run = [calculate, columns = rows.columns](std::int64_t begin, std::int64_t size,
                                                 const RowSlice& to, const RowSlice* from) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      calculate(size / columns, columns, at<In>(from[k], begin)..., at<T>(to, begin));
    }(std::index_sequence_for<In...>());
  };
  if constexpr (kHasCuda) {
    part.launch = [rows](DeviceContext& device, std::int64_t /*size*/, void* to,
                         const void* const* from) {
      [&]<std::size_t... k>(std::index_sequence<k...>) {
        cuda::for_each_group(device, rows.count, rows.columns, Body{rows.columns},
                             static_cast<In*>(from[k])..., static_cast<T*>(to));
      }(std::index_sequence_for<In...>());
    };
  }
  return RowKernel(std::move(part));
}

template <class T>
Kernel softmax(const KernelContext& context) {
  return by_rows<cuda::SoftmaxRows>(cpu::softmax<T>, context.output<T>("Out"),
                                    context.input<T>("X"));
}

template <class T>
Kernel softmax_grad(const KernelContext& context) {
  const auto out = context.input<T>("Out");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  return by_rows<cuda::SoftmaxGradRows>(cpu::softmax_grad<T>, dx, out, dout);
}

template <class T>
Kernel log_softmax(const KernelContext& context) {
  return by_rows<cuda::LogSoftmaxRows>(cpu::log_softmax<T>, context.output<T>("Out"),
                                       context.input<T>("X"));
}

template <class T>
Kernel log_softmax_grad(const KernelContext& context) {
  const auto out = context.input<T>("Out");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  return by_rows<cuda::LogSoftmaxGradRows>(cpu::log_softmax_grad<T>, dx, out, dout);
}

void infer_softmax_grad(InferContext& context) {
  const TensorSpec& out = context.input("Out");
  require_shape(context, "Out@GRAD", out.shape);
  context.set_output("X@GRAD", out);
}

void add_log_softmax(OpRegistry& registry) {
  registry.add(OpDef("log_softmax")
                   .doc("Out = X - log(sum of exp(X)) over the last dimension. Does not overflow.")
                   .input("X", "[..., D], floating")
                   .output("Out", "shape and dtype of X; logarithms of probabilities")
                   .row_dims(all_but_last_dim)
                   .infer(same_as("X"))
                   .in_place("X", "Out")
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return log_softmax<typename decltype(tag)::type>;
                   }))
                   .grad(standard_grad({.outputs = {"Out"}, .differentiable = {"X"}})));
  registry.add(OpDef("log_softmax_grad")
                   .doc("X@GRAD = Out@GRAD - exp(Out) (sum of Out@GRAD over the last dimension).")
                   .input("Out", "output of the forward operator")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .row_dims(all_but_last_dim)
                   .infer(infer_softmax_grad)
                   .in_place("Out", "X@GRAD")
                   .in_place("Out@GRAD", "X@GRAD")
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return log_softmax_grad<typename decltype(tag)::type>;
                   }))
                   .decompose([](Decomposition& d) {
                     const Expr dout = d.input("Out@GRAD");
                     const Expr share = d.op("exp", {{"X", d.input("Out")}});
                     d.set("X@GRAD", dout - share * sum_of_row(dout));
                   }));
}

}  // namespace

Expr sum_of_row(const Expr& x) {
  return x.owner().op("reduce_sum", {{"X", x}}, {{"dim", std::int64_t{-1}}, {"keep_dim", true}});
}

void register_softmax_ops(OpRegistry& registry) {
  registry.add(
      OpDef("softmax")
          .doc("Out = exp(X) / sum of exp(X) over the last dimension.")
          .input("X", "[..., D], floating")
          .output("Out", "shape and dtype of X; positive, and 1 in sum over the last dimension")
          .row_dims(all_but_last_dim)
          .infer(same_as("X"))
          .in_place("X", "Out")
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return softmax<typename decltype(tag)::type>; }))
          .grad(standard_grad({.outputs = {"Out"}, .differentiable = {"X"}})));
  registry.add(OpDef("softmax_grad")
                   .doc("X@GRAD = (Out@GRAD - sum of Out Out@GRAD over the last dimension) Out.")
                   .input("Out", "output of the forward operator")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .row_dims(all_but_last_dim)
                   .infer(infer_softmax_grad)
                   .in_place("Out", "X@GRAD")
                   .in_place("Out@GRAD", "X@GRAD")
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return softmax_grad<typename decltype(tag)::type>;
                   }))
                   .decompose([](Decomposition& d) {
                     const Expr out = d.input("Out");
                     const Expr dout = d.input("Out@GRAD");
                     d.set("X@GRAD", (dout - sum_of_row(out * dout)) * out);
                   }));
  add_log_softmax(registry);
}

}  // namespace fluidcore
