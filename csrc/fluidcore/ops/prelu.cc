#include <memory>
#include <vector>

#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/kernels/piecewise_functors.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

template <class Formula>
struct WithAlpha {
  template <class Index, class T, class... In>
  FC_HOST_DEVICE void operator()(Index i, const T* alpha, T* out, const In*... in) const {
    using C = ComputeType<T>;
    const Formula formula{static_cast<double>(static_cast<C>(*alpha))};
    out[i] = static_cast<T>(formula(static_cast<C>(in[i])...));
  }
};

// Element i of what Alpha@GRAD is the sum of.
template <class T>
struct AlphaTerms {
  const T* x;
  const T* dout;
  FC_HOST_DEVICE auto operator()(std::int64_t i) const {
    using C = ComputeType<T>;
    return NegativePart()(static_cast<C>(x[i]), static_cast<C>(dout[i]));
  }
};

// out = Formula{Alpha}(inputs...); Alpha is read in each run.
template <class Formula, class T, class... In>
Kernel with_alpha(Arg<const T> alpha, Arg<T> out, Arg<In>... inputs) {
  if (!out) return nothing_to_do();
  using C = ComputeType<T>;
  if constexpr (kHasCuda) {
    if (out.cell()->device != nullptr) {
      return Kernel::enqueued([=, &device = *out.cell()->device] {
        cuda::for_each(device, out.size(), WithAlpha<Formula>(), alpha.data(), out.data(),
                       inputs.data()...);
      });
    }
  }
  return [=, size = out.size()] {
    const Formula formula{static_cast<double>(static_cast<C>(*alpha.data()))};
    cpu::elementwise(formula, size, out.data(), inputs.data()...);
  };
}

template <class T>
Kernel prelu(const KernelContext& context) {
  return with_alpha<LeakyRelu>(context.input<T>("Alpha"), context.output<T>("Out"),
                               context.input<T>("X"));
}

// The sum of X Out@GRAD over all elements where X <= 0.
template <class T>
Kernel alpha_grad(const KernelContext& context, Arg<const T> x, Arg<const T> dout, Arg<T> dalpha) {
  if (!dalpha) return nothing_to_do();
  using C = ComputeType<T>;
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::Reduction<SumOf, C, T> sum(context.device(), context.scratch(), {x.size()},
                                             {true});
      return Kernel::enqueued(
          [=] { sum.run(AlphaTerms<T>{x.data(), dout.data()}, dalpha.data()); });
    }
  }
  const Tensor terms({x.shape(), dtype_of<C>});
  const auto sum = std::make_shared<cpu::Reduction<SumOf, C, T>>(
      x.shape(), std::vector<bool>(x.shape().rank(), true));
  return [=, size = x.size()] {
    auto* const all = static_cast<C*>(terms.raw());
    cpu::elementwise(NegativePart(), size, all, x.data(), dout.data());
    sum->run(all, dalpha.data());
  };
}

template <class T>
Kernel prelu_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto dout = context.input<T>("Out@GRAD");
  const Kernel first = alpha_grad<T>(context, x, dout, context.optional_output<T>("Alpha@GRAD"));
  const Kernel second = with_alpha<LeakyReluGrad>(context.input<T>("Alpha"),
                                                  context.optional_output<T>("X@GRAD"), x, dout);
  return work_kernel(context, [first, second] {
    if (!first.is_empty()) first();
    if (!second.is_empty()) second();
  });
}

void require_alpha(const InferContext& context) {
  require_dtype(context, "Alpha", context.input("X").dtype);
  const Shape& alpha = context.input("Alpha").shape;
  const std::int64_t size = alpha.num_elements();
  require(size == 1 || size == -1, context.type(), ": Alpha must have one element, got ", alpha);
}

void decompose_prelu_grad(Decomposition& d) {
  const Expr x = d.input("X");
  const Expr alpha = d.input("Alpha");
  const Expr dout = d.input("Out@GRAD");
  const Expr is_positive =
      d.constant("relu_grad", {{"Out", x}, {"Out@GRAD", d.filled_like(x, 1.0)}}, {}, "X@GRAD");
  const Expr leaked = dout * (1.0 - is_positive);
  const AttributeMap from_first{{"axis", std::int64_t{0}}};  // Alpha [1] fits an X of rank 0, too
  d.set("X@GRAD",
        dout * is_positive + d.op("elementwise_mul", {{"X", leaked}, {"Y", alpha}}, from_first));
  d.set("Alpha@GRAD",
        d.op("elementwise_add_grad", {{"X", x}, {"Y", alpha}, {"Out@GRAD", leaked * x}}, from_first,
             "Y@GRAD"));
}

}  // namespace

void register_prelu_ops(OpRegistry& registry) {
  registry.add(
      OpDef("prelu")
          .doc("Out = X where X > 0, else Alpha X, element by element.")
          .input("X", "any shape, floating")
          .input("Alpha", "one element, dtype of X")
          .output("Out", "shape and dtype of X")
          .infer([](InferContext& context) {
            require_alpha(context);
            context.set_output("Out", context.input("X"));
          })
          .row_dims([](const InferContext& context, std::string_view slot) {
            return slot == "X" ? context.input("X").shape.rank() : 0;
          })
          .in_place("X", "Out")
          .kernels(floating_kernels_everywhere(
              [](auto tag) -> KernelFactory { return prelu<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X", "Alpha"}, .differentiable = {"X", "Alpha"}})));
  registry.add(OpDef("prelu_grad")
                   .doc("X@GRAD = Out@GRAD where X > 0, else Alpha Out@GRAD. Alpha@GRAD = the sum "
                        "of X Out@GRAD where X <= 0.")
                   .input("X", "input of the forward operator")
                   .input("Alpha", "input of the forward operator")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .output("Alpha@GRAD", "gradient of Alpha, shape of Alpha")
                   .infer([](InferContext& context) {
                     require_alpha(context);
                     require_spec(context, "Out@GRAD", context.input("X"));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return prelu_grad<typename decltype(tag)::type>;
                   }))
                   .decompose(decompose_prelu_grad));
}

}  // namespace fluidcore
