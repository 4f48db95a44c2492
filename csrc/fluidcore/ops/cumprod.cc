#include <cstdint>
#include <vector>

#include "fluidcore/kernels/cpu/cumsum.h"
#include "fluidcore/kernels/cpu/linear_recurrence.h"
#include "fluidcore/kernels/cuda/sequences.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/axis.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

template <class T>
Kernel cumprod(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const SequencesOf all(x.shape(), axis_of_sequences(context, x.shape()));
  const cpu::CumsumOrder order{context.attr<bool>("exclusive"), context.attr<bool>("reverse")};
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::Cumulate products{
          {all.outer, all.count, all.inner, order.reverse}, true, order.exclusive};
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, all.outer * all.inner, products, x.data(), out.data());
      });
    }
  }
  return [=] { cpu::cumprod(all.outer, all.count, all.inner, order, x.data(), out.data()); };
}

template <class T>
Kernel cumprod_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.output<T>("X@GRAD");
  const SequencesOf of(x.shape(), axis_of_sequences(context, x.shape()));
  const cpu::Sequences all{of.outer, of.count, of.inner, context.attr<bool>("reverse")};
  const cpu::CumsumOrder order{context.attr<bool>("exclusive"), all.reverse};
  const Tensor products(x.spec(), context.device().device());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        auto* const out = static_cast<T*>(products.raw());
        const std::int64_t count = all.outer * all.inner;
        cuda::for_each(device, count, cuda::Cumulate{all, true, order.exclusive}, x.data(), out);
        cuda::for_each(device, count, cuda::CumprodGrad{all, order.exclusive}, x.data(),
                       static_cast<const T*>(out), dout.data(), dx.data());
      });
    }
  }
  return [=] {
    auto* const out = static_cast<T*>(products.raw());
    cpu::cumprod(all.outer, all.count, all.inner, order, x.data(), out);
    cpu::cumprod_grad(all, order.exclusive, x.data(), out, dout.data(), dx.data());
  };
}

// The product before each element, times what comes back from those behind, which is a recurrence
// the other way; neither divides by an element, so that a 0 does no harm.
void decompose_cumprod_grad(Decomposition& d) {
  const Expr x = d.input("X");
  const std::int64_t axis = d.attr<std::int64_t>("axis");
  const bool reverse = d.attr<bool>("reverse");
  const AttributeMap back{{"axis", axis}, {"reverse", !reverse}};
  const auto next = [&](const Expr& of) {
    return d.op("roll", {{"X", of}},
                {{"shifts", std::vector<std::int64_t>{reverse ? 1 : -1}},
                 {"axis", std::vector<std::int64_t>{axis}}});
  };
  const Expr before =
      d.op("cumprod", {{"X", x}}, {{"axis", axis}, {"exclusive", true}, {"reverse", reverse}});
  const Expr dout = d.input("Out@GRAD");
  if (!d.attr<bool>("exclusive")) {
    const Expr slope = d.op("linear_recurrence", {{"X", next(x)}, {"Y", dout}}, back);
    return d.set("X@GRAD", before * slope);
  }
  const Expr is_last =
      is_zero(d.constant("cumsum", {{"X", d.filled_like(x, 1.0)}},
                         {{"axis", axis}, {"exclusive", true}, {"reverse", !reverse}}));
  const Expr slope = next(d.op("linear_recurrence", {{"X", x}, {"Y", dout}}, back));
  d.set("X@GRAD", before * slope * (1.0 - is_last));
}

OpDef with_cumprod_attrs(OpDef&& def) {
  return std::move(def)
      .attr("axis", std::int64_t{-1}, "the dimension; counted from the end if negative")
      .attr("exclusive", false, "whether Out[i] is without X[i]: the first product is 1")
      .attr("reverse", false, "whether the product begins at the last element")
      .row_dims([](const InferContext& context, std::string_view /*slot*/) {
        return dims_before_sequences(context, context.input("X").shape);
      });
}

}  // namespace

void register_cumprod_ops(OpRegistry& registry) {
  registry.add(
      with_cumprod_attrs(OpDef("cumprod"))
          .doc("Out[i] = X[0] X[1] ... X[i] along one dimension. Its gradients, of any order, are "
               "right where elements are 0.")
          .input("X", "any shape, floating or int32 or int64")
          .output("Out", "shape and dtype of X")
          .infer([](InferContext& context) {
            const TensorSpec& x = context.input("X");
            axis_of_sequences(context, x.shape);
            context.set_output("Out", x);
          })
          .in_place("X", "Out")
          .kernels(kernels_everywhere<float, double, BFloat16, std::int32_t, std::int64_t>(
              [](auto tag) -> KernelFactory { return cumprod<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(
      with_cumprod_attrs(OpDef("cumprod_grad"))
          .doc("X@GRAD[i] = the sum over k of Out@GRAD[k] times the product of the elements that "
               "Out[k] is made of, without X[i].")
          .input("X", "input of the forward operator")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .output("X@GRAD", "gradient of X, shape of X")
          .infer([](InferContext& context) {
            const TensorSpec& x = context.input("X");
            axis_of_sequences(context, x.shape);
            require_spec(context, "Out@GRAD", x);
            context.set_output("X@GRAD", x);
          })
          .in_place("Out@GRAD", "X@GRAD")
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return cumprod_grad<typename decltype(tag)::type>; }))
          .decompose(decompose_cumprod_grad));
}

}  // namespace fluidcore
