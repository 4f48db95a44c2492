#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/pool.h"
#include "fluidcore/kernels/cuda/pool.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/on_host.h"
#include "fluidcore/ops/pool_form.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

Shape checked_mask_shape(const InferContext& context, std::size_t axes) {
  require_rank(context, "X", axes + 2, layout_doc(axes));
  const Shape& x = context.input("X").shape;
  const Shape out = pool_shape(context, x, false);
  const double plane = static_cast<double>(product(spatial_of(x)));
  require(!x.is_known() || plane <= std::numeric_limits<std::int32_t>::max(), context.type(),
          ": X must have less than 2147483648 elements in a channel, got ", x);
  return out;
}

template <class T>
Kernel max_pool(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const auto mask = context.output<std::int32_t>("Mask");
  const PoolProblem problem = pool_problem(context, x.shape(), Pooling::kMax, false);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, out.size(), cuda::MaximumIndex{problem}, x.data(), mask.data());
        cuda::for_each(device, out.size(), cuda::PoolElements{problem}, x.data(), out.data());
      });
    }
  }
  return [pool = cpu::prepare_max_pool_with_index<T>(problem), x, out, mask] {
    pool(x.data(), out.data(), mask.data());
  };
}

// The planes of X and of Out, and the places in X that Mask names.
struct Picked {
  Picked(const KernelContext& context, const Shape& x, const Shape& out)
      : type(context.type()),
        mask(context.input<std::int32_t>("Mask")),
        mask_on_host(context.raw_input("Mask")),
        planes(x.product(0, 2)),
        in(x.product(2, x.rank())),
        out(out.product(2, out.rank())) {}

  // Throws InvalidArgument for the first place that is none of X's.
  void check() const {
    const auto* const index = static_cast<const std::int32_t*>(mask_on_host.data());
    for (std::int64_t i = 0; i < planes * out; ++i) {
      require(index[i] >= 0 && index[i] < in, type, ": Mask must be in [0, ", in, "), got ",
              index[i], " at position ", i);
    }
  }

  // Calls f(place in X, place in Out) for each element of Out.
  template <class F>
  void for_each(const F& f) const {
    check();
    const std::int32_t* index = mask.data();
    parallel_for(planes, kGrain / std::max<std::int64_t>(in, 1) + 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin * out; i < end * out; ++i) {
                     f(i / out * in + index[i], i);
                   }
                 });
  }

  static constexpr std::int64_t kGrain = 1 << 15;
  std::string type;
  Arg<const std::int32_t> mask;
  OnHost mask_on_host;
  std::int64_t planes;
  std::int64_t in;
  std::int64_t out;
};

template <class T>
Kernel max_pool_grad(const KernelContext& context) {
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  const Picked picked(context, dx.shape(), dout.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          context.raw_input("Mask"), [=] { picked.check(); },
          [=, &device = context.device()] {
            device.zero(dx.data(), static_cast<std::size_t>(dx.size()) * sizeof(T));
            cuda::for_each(device, picked.planes, cuda::AddIndexed{picked.in, picked.out},
                           dout.data(), picked.mask.data(), dx.data());
          });
    }
  }
  return [=] {
    std::fill_n(dx.data(), dx.size(), T(0));
    picked.for_each(
        [&](std::int64_t from, std::int64_t to) { dx.data()[from] += dout.data()[to]; });
  };
}

template <class T>
Kernel max_pool_grad_grad(const KernelContext& context) {
  const auto ddx = context.input<T>("X@GRAD@GRAD");
  const auto ddout = context.output<T>("Out@GRAD@GRAD");
  const Picked picked(context, ddx.shape(), ddout.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::ImageLayout in{false, picked.planes, picked.in};
      const cuda::ImageLayout out{false, picked.planes, picked.out};
      return checked(
          context.raw_input("Mask"), [=] { picked.check(); },
          [=, &device = context.device()] {
            cuda::for_each(device, ddout.size(), cuda::PickIndexed{in, out}, ddx.data(),
                           picked.mask.data(), ddout.data());
          });
    }
  }
  return [=] {
    picked.for_each(
        [&](std::int64_t from, std::int64_t to) { ddout.data()[to] = ddx.data()[from]; });
  };
}

// The inputs of both gradient operators.
OpDef with_mask(OpDef def, std::size_t axes) {
  return with_pool_attrs(std::move(def), axes)
      .input("X", "input of the forward operator", {.shape_only = true, .needs_no_gradient = true})
      .input("Mask", "output of the forward operator", {.needs_no_gradient = true})
      .checks_data();
}

void add_max_pool(OpRegistry& registry, std::size_t axes, const std::string& type) {
  registry.add(
      with_pool_attrs(OpDef(type), axes)
          .doc("Out = the maximum of the window of X that begins, along each axis, at its place "
               "times stride - padding; Mask = where the first of them is, counted in its plane of "
               "X. Extents: (in + 2 padding - ksize) / stride + 1, rounded down.")
          .input("X", layout_doc(axes) + ", floating")
          .output("Out", "[N, C, out " + axes_doc(axes).substr(1))
          .output("Mask", "shape of Out, int32")
          .infer([axes](InferContext& context) {
            const Shape out = checked_mask_shape(context, axes);
            context.set_output("Out", {out, context.input("X").dtype});
            context.set_output("Mask", {out, DType::kInt32});
          })
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return max_pool<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X"}, .outputs = {"Mask"}, .differentiable = {"X"}})));
  registry.add(with_mask(OpDef(type + "_grad"), axes)
                   .doc("X@GRAD: the gradient of each maximum goes to where Mask says it is.")
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .infer([axes](InferContext& context) {
                     const Shape out = checked_mask_shape(context, axes);
                     require_spec(context, "Mask", {out, DType::kInt32});
                     require_spec(context, "Out@GRAD", {out, context.input("X").dtype});
                     infer_grads_like_inputs(context);
                   })
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return max_pool_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.type = type + "_grad_grad",
                                       .input = "X@GRAD@GRAD",
                                       .output = "Out@GRAD@GRAD",
                                       .kept = {"X", "Mask"}})));
  registry.add(with_mask(OpDef(type + "_grad_grad"), axes)
                   .doc("Out@GRAD@GRAD = the elements of X@GRAD@GRAD that Mask names.")
                   .input("X@GRAD@GRAD", "gradient of X@GRAD, shape of X")
                   .output("Out@GRAD@GRAD", "gradient of Out@GRAD, shape of Out")
                   .infer([axes](InferContext& context) {
                     const Shape out = checked_mask_shape(context, axes);
                     require_spec(context, "Mask", {out, DType::kInt32});
                     require_spec(context, "X@GRAD@GRAD", context.input("X"));
                     context.set_output("Out@GRAD@GRAD", {out, context.input("X").dtype});
                   })
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return max_pool_grad_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.from = "X@GRAD@GRAD",
                                       .to = "Out@GRAD@GRAD",
                                       .type = type + "_grad",
                                       .input = "Out@GRAD",
                                       .output = "X@GRAD",
                                       .kept = {"X", "Mask"}})));
}

}  // namespace

void register_max_pool_with_index_ops(OpRegistry& registry) {
  add_max_pool(registry, 2, "max_pool2d_with_index");
  add_max_pool(registry, 3, "max_pool3d_with_index");
}

}  // namespace fluidcore
