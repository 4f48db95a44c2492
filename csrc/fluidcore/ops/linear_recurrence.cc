#include "fluidcore/kernels/cpu/linear_recurrence.h"

#include <utility>
#include <vector>

#include "fluidcore/kernels/cuda/sequences.h"
#include "fluidcore/ops/axis.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

cpu::Sequences sequences(const KernelContext& context, const Shape& shape) {
  const SequencesOf of(shape, axis_of_sequences(context, shape));
  return {of.outer, of.count, of.inner, context.attr<bool>("reverse")};
}

template <class T>
Kernel recurrence(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto out = context.output<T>("Out");
  const cpu::Sequences all = sequences(context, out.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, all.outer * all.inner, cuda::LinearRecurrence{all}, x.data(),
                       y.data(), out.data());
      });
    }
  }
  return [=] { cpu::linear_recurrence(all, x.data(), y.data(), out.data()); };
}

template <class T>
Kernel recurrence_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.input<T>("Out");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  const auto dy = context.optional_output<T>("Y@GRAD");
  const cpu::Sequences all = sequences(context, out.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, all.outer * all.inner, cuda::LinearRecurrenceGrad{all}, x.data(),
                       out.data(), dout.data(), data_or_null(dx), data_or_null(dy));
      });
    }
  }
  return [=] {
    cpu::linear_recurrence_grad(all, x.data(), out.data(), dout.data(), data_or_null(dx),
                                data_or_null(dy));
  };
}

void infer_recurrence(InferContext& context) {
  const TensorSpec& x = context.input("X");
  axis_of_sequences(context, x.shape);
  require_spec(context, "Y", x);
  context.set_output("Out", x);
}

void infer_recurrence_grad(InferContext& context) {
  const TensorSpec& x = context.input("X");
  axis_of_sequences(context, x.shape);
  require_spec(context, "Out", x);
  require_spec(context, "Out@GRAD", x);
  context.set_output("X@GRAD", x);
  context.set_output("Y@GRAD", x);
}

// The gradient of Out, with what comes back from all elements behind, is a recurrence the other
// way.
void decompose_recurrence_grad(Decomposition& d) {
  const Expr x = d.input("X");
  const Expr out = d.input("Out");
  const std::int64_t axis = d.attr<std::int64_t>("axis");
  const bool reverse = d.attr<bool>("reverse");
  const auto moved = [&](const Expr& of, std::int64_t shift) {
    return d.op("roll", {{"X", of}}, {{"shifts", Ints{shift}}, {"axis", Ints{axis}}});
  };
  const std::int64_t on = reverse ? -1 : 1;
  const Expr is_first =
      is_zero(d.constant("cumsum", {{"X", d.filled_like(x, 1.0)}},
                         {{"axis", axis}, {"exclusive", true}, {"reverse", reverse}}));
  const Expr slope = d.op("linear_recurrence", {{"X", moved(x, -on)}, {"Y", d.input("Out@GRAD")}},
                          {{"axis", axis}, {"reverse", !reverse}});
  d.set("X@GRAD", slope * moved(out, on) * (1.0 - is_first));
  d.set("Y@GRAD", slope);
}

OpDef with_recurrence_attrs(OpDef&& def) {
  return std::move(def)
      .attr("axis", std::int64_t{-1}, "the dimension; counted from the end if negative")
      .attr("reverse", false, "whether it begins at the last element")
      .row_dims([](const InferContext& context, std::string_view /*slot*/) {
        return dims_before_sequences(context, context.input("X").shape);
      });
}

}  // namespace

void register_linear_recurrence_ops(OpRegistry& registry) {
  registry.add(with_recurrence_attrs(OpDef("linear_recurrence"))
                   .doc("Out[i] = X[i] * Out[i - 1] + Y[i] along one dimension, Out[0] = Y[0].")
                   .input("X", "any shape, floating; X[0] counts for nothing")
                   .input("Y", "shape and dtype of X")
                   .output("Out", "shape and dtype of X")
                   .infer(infer_recurrence)
                   .in_place("X", "Out")
                   .in_place("Y", "Out")
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return recurrence<typename decltype(tag)::type>;
                   }))
                   .grad(standard_grad(
                       {.inputs = {"X"}, .outputs = {"Out"}, .differentiable = {"X", "Y"}})));
  registry.add(
      with_recurrence_attrs(OpDef("linear_recurrence_grad"))
          .doc("Y@GRAD[i] = Out@GRAD[i] + X[i + 1] * Y@GRAD[i + 1]; X@GRAD[i] = Out[i - 1] "
               "* Y@GRAD[i].")
          .input("X", "input of the forward operator")
          .input("Out", "output of the forward operator")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .output("X@GRAD", "gradient of X, shape of X")
          .output("Y@GRAD", "gradient of Y, shape of X")
          .infer(infer_recurrence_grad)
          .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
            return recurrence_grad<typename decltype(tag)::type>;
          }))
          .decompose(decompose_recurrence_grad));
}

}  // namespace fluidcore
