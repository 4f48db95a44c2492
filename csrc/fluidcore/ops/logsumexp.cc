#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/kernels/cuda/map.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/kernels/math.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/reduction.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/scratch.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

struct ExpDifference {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T shift) const {
    return math::exp(x - shift);
  }
};

// X@GRAD of x; 0 for an x of -infinity, also where the result is that.
struct ShareOfGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T out, T dout) const {
    return (x == -std::numeric_limits<T>::infinity() ? T(0) : math::exp(x - out)) * dout;
  }
};

struct FiniteOrZero {
  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, T* x) const {
    if (!(x[i] - x[i] == T(0))) x[i] = T(0);
  }
};
struct LogPlus {
  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* shift, T* out) const {
    out[i] = math::log(out[i]) + shift[i];
  }
};

template <class T>
Kernel logsumexp_on_cuda(const KernelContext& context,
                         const std::vector<bool>& reduced,
                         const cpu::BroadcastNest& nest) {
  DeviceContext& device = context.device();
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  ScratchParts memory(context.scratch());
  const std::size_t shifts_at = memory.add(out.size(), sizeof(T));
  const cuda::Reduction<MaxOf, T> greatest(device, memory.rest(), x.shape(), reduced);
  const cuda::Reduction<SumOf, T> sum(device, memory.rest(), x.shape(), reduced);
  return Kernel::enqueued([=, &device, index = cuda::BroadcastIndex<2>(nest)] {
    T* const shifts = memory.at<T>(shifts_at);
    greatest.run(cuda::Elements<T>{x.data()}, shifts);
    cuda::for_each(device, out.size(), FiniteOrZero(), shifts);
    sum.run(
        cuda::broadcast_elements(ExpDifference(), index, x.data(), static_cast<const T*>(shifts)),
        out.data());
    cuda::for_each(device, out.size(), LogPlus(), static_cast<const T*>(shifts), out.data());
  });
}

template <class T>
Kernel logsumexp(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  if (out.size() == 0) return nothing_to_do();
  const Shape& shape = x.shape();
  const std::vector<bool> reduced = reduced_axes(context, shape.rank());
  const Shape kept = kept_shape(shape, reduced);
  const auto nest = std::make_shared<const cpu::BroadcastNest>(shape, std::vector{shape, kept});
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) return logsumexp_on_cuda<T>(context, reduced, *nest);
  }
  const auto greatest = std::make_shared<cpu::Reduction<MaxOf, T>>(shape, reduced);
  const auto sum = std::make_shared<cpu::Reduction<SumOf, T>>(shape, reduced);
  const Tensor shifts({kept, dtype_of<T>});
  const Tensor terms({shape, dtype_of<T>});
  return [=, size = out.size()] {
    auto* const shift = static_cast<T*>(shifts.raw());
    auto* const term = static_cast<T*>(terms.raw());
    greatest->run(x.data(), shift);
    for (std::int64_t i = 0; i < size; ++i) {
      if (!std::isfinite(shift[i])) shift[i] = T(0);
    }
    cpu::broadcast_elementwise(*nest, ExpDifference(), term, x.data(), shift);
    sum->run(term, out.data());
    for (std::int64_t i = 0; i < size; ++i) out.data()[i] = math::log(out.data()[i]) + shift[i];
  };
}

template <class T>
Kernel logsumexp_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx || dx.size() == 0) return nothing_to_do();
  const auto x = context.input<T>("X");
  const auto out = context.input<T>("Out");
  const auto dout = context.input<T>("Out@GRAD");
  const Shape& shape = x.shape();
  const Shape kept = kept_shape(shape, reduced_axes(context, shape.rank()));
  const auto nest =
      std::make_shared<const cpu::BroadcastNest>(shape, std::vector{shape, kept, kept});
  return broadcast_kernel(nest, ShareOfGrad(), dx, x, out, dout);
}

// Out and Out@GRAD, repeated over the reduced dimensions.
Expr repeated(Decomposition& d, const char* slot) {
  return d.op("reduce_sum_grad", {{"X", d.input("X")}, {"Out@GRAD", d.input(slot)}}, d.attrs(),
              "X@GRAD");
}

}  // namespace

void register_logsumexp_ops(OpRegistry& registry) {
  registry.add(
      declare_reduce("logsumexp",
                     "Out = log(sum of exp(X)) over the dimensions dim. Does not overflow; "
                     "-infinity of no elements.")
          .infer([](InferContext& context) { context.set_output("Out", reduced_spec(context)); })
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return logsumexp<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X"}, .outputs = {"Out"}, .differentiable = {"X"}})));
  registry.add(declare_reduce_grad("logsumexp_grad", "X@GRAD = Out@GRAD exp(X - Out), repeated.")
                   .input("X", "input of the forward operator")
                   .input("Out", "output of the forward operator")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return logsumexp_grad<typename decltype(tag)::type>;
                   }))
                   .decompose([](Decomposition& d) {
                     const Expr difference = d.input("X") - repeated(d, "Out");
                     const Expr share = d.op("exp", {{"X", difference}});
                     d.set("X@GRAD", repeated(d, "Out@GRAD") * share);
                   }));
}

}  // namespace fluidcore
