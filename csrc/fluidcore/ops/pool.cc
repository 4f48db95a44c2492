#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "fluidcore/kernels/cpu/pool.h"
#include "fluidcore/kernels/cpu/pool_pairs.h"
#include "fluidcore/kernels/cuda/pool.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/ops/channels_first.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/pool_form.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/through_float32.h"
#include "fluidcore/ops/window_attrs.h"

namespace fluidcore {

namespace {

Shape checked_pool_shape(const InferContext& context, std::size_t axes) {
  require_rank(context, "X", axes + 2, layout_doc(axes));
  const Shape x = channels_first(context, context.input("X").shape);
  return in_data_format(context, pool_shape(context, x, context.attr<bool>("ceil_mode")));
}

PoolProblem problem_of(const KernelContext& context, const Shape& x) {
  const bool is_max = context.attr<std::string>("pooling_type") == "max";
  PoolProblem problem =
      pool_problem(context, channels_first(context, x), is_max ? Pooling::kMax : Pooling::kAverage,
                   context.attr<bool>("ceil_mode"));
  problem.channels_last = has_channels_last(context, problem.axes);
  return problem;
}

// The two images of a pooling, for kernels that want the channels first.
template <class T>
struct PoolImages {
  explicit PoolImages(const PoolProblem& p)
      : in(p.channels_last, {p.batch, p.channels, p.in_plane()}),
        out(p.channels_last, {p.batch, p.channels, p.out_plane()}) {}

  ChannelsFirst<T> in;
  ChannelsFirst<T> out;
};

template <class T>
constexpr bool kHasOneDnnPool =
    onednn::kEnabled && (std::is_same_v<T, float> || std::is_same_v<T, BFloat16>);

// Empty for 16-bit floats where oneDNN has no kernel.
template <class T>
Prepared1<T> prepare(const PoolProblem& problem) {
  if constexpr (kHasOneDnnPool<T>) {
    if (Prepared1<T> prepared = onednn::prepare_pool<T>(problem)) return prepared;
  }
  if constexpr (cpu::kIsHalf<T>) {
    return {};
  } else {
    const PoolImages<T> images(problem);
    return [=, pool = cpu::prepare_pool<T>(problem)](const T* x, T* out) {
      pool(images.in.read(x), images.out.result(out));
      images.out.write(out);
    };
  }
}

template <class T>
Prepared2<T> prepare_grad(const PoolProblem& problem) {
  if constexpr (kHasOneDnnPool<T>) {
    if (Prepared2<T> prepared = onednn::prepare_pool_grad<T>(problem)) return prepared;
  }
  if constexpr (cpu::kIsHalf<T>) {
    return {};
  } else {
    const PoolImages<T> images(problem);
    const ChannelsFirst<T> x_grads = images.in.another();
    return
        [=, grad = cpu::prepare_pool_grad<T>(problem)](const T* x, const T* out_grad, T* x_grad) {
          grad(images.in.read(x), images.out.read(out_grad), x_grads.result(x_grad));
          x_grads.write(x_grad);
        };
  }
}

// Where X has the first greatest element of the window.
template <class T>
Prepared2<T> prepare_pick(const PoolProblem& problem) {
  const PoolImages<T> images(problem);
  const ChannelsFirst<T> ddxs = images.in.another();
  return [=, pick = cpu::prepare_pool_pick<T>(problem)](const T* x, const T* ddx, T* ddout) {
    pick(images.in.read(x), ddxs.read(ddx), images.out.result(ddout));
    images.out.write(ddout);
  };
}

Kernel pool_pairs(const PoolProblem& problem, Arg<const float> x, Arg<float> out) {
  RowPart part{.out = {out.cell(), problem.planes()}, .in = {{x.cell(), problem.planes()}}};
  part.run = [in_plane = problem.in_plane(), out_plane = problem.out_plane(),
              pool = cpu::prepare_pool_pairs(problem)](std::int64_t begin, std::int64_t size,
                                                       const RowSlice& to, const RowSlice* from) {
    pool(size / out_plane, at<const float>(from[0], begin / out_plane * in_plane),
         at<float>(to, begin));
  };
  return RowKernel(std::move(part));
}

Kernel pool_pairs_grad(const PoolProblem& problem,
                       Arg<const float> x,
                       Arg<const float> dout,
                       Arg<float> dx) {
  const std::int64_t planes = problem.planes();
  RowPart part{.out = {dx.cell(), planes}, .in = {{x.cell(), planes}, {dout.cell(), planes}}};
  part.run = [in_plane = problem.in_plane(), out_plane = problem.out_plane(),
              grad = cpu::prepare_pool_pairs_grad(problem)](
                 std::int64_t begin, std::int64_t size, const RowSlice& to, const RowSlice* from) {
    grad(size / in_plane, at<const float>(from[0], begin),
         at<const float>(from[1], begin / in_plane * out_plane), at<float>(to, begin));
  };
  return RowKernel(std::move(part));
}

// Places of the maxima of all outputs, in the scratch of a plan on a CUDA device.
using PlaceOfMaximum = std::int64_t;

template <class T>
PlaceOfMaximum* places_of_maxima(DeviceContext& device,
                                 const PoolProblem& problem,
                                 const ScratchPtr& scratch,
                                 const T* x) {
  auto* const places = reinterpret_cast<PlaceOfMaximum*>(scratch->data());
  cuda::for_each(device, problem.planes() * problem.out_plane(), cuda::MaximumIndex{problem}, x,
                 places);
  return places;
}
[[maybe_unused]] void reserve_places(const PoolProblem& problem, const ScratchPtr& scratch) {
  if (problem.pooling == Pooling::kAverage) return;
  scratch->reserve(static_cast<std::size_t>(problem.planes() * problem.out_plane()) *
                   sizeof(PlaceOfMaximum));
}

template <class T>
Kernel pool(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const PoolProblem problem = problem_of(context, x.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each(device, out.size(), cuda::PoolElements{problem}, x.data(), out.data());
      });
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (cpu::has_pool_pairs(problem)) return pool_pairs(problem, x, out);
  }
  const Prepared1<T> pool = prepare<T>(problem);
  if (!pool) return through_float32(context);
  return [=] { pool(x.data(), out.data()); };
}

template <class T>
Kernel pool_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  const PoolProblem problem = problem_of(context, x.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      reserve_places(problem, context.scratch());
      return Kernel::enqueued([=, &device = context.device(), scratch = context.scratch()] {
        const bool is_max = problem.pooling == Pooling::kMax;
        const PlaceOfMaximum* const places =
            is_max ? places_of_maxima(device, problem, scratch, x.data()) : nullptr;
        cuda::for_each(device, dx.size(), cuda::PoolGrad{problem}, dout.data(), places, dx.data());
      });
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (cpu::has_pool_pairs_grad(problem)) return pool_pairs_grad(problem, x, dout, dx);
  }
  const Prepared2<T> grad = prepare_grad<T>(problem);
  if (!grad) return through_float32(context);
  return [=] { grad(x.data(), dout.data(), dx.data()); };
}

template <class T>
Kernel pool_grad_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto ddx = context.input<T>("X@GRAD@GRAD");
  const auto ddout = context.output<T>("Out@GRAD@GRAD");
  const PoolProblem problem = problem_of(context, x.shape());
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      reserve_places(problem, context.scratch());
      return Kernel::enqueued([=, &device = context.device(), scratch = context.scratch()] {
        if (problem.pooling == Pooling::kAverage) {
          return cuda::for_each(device, ddout.size(), cuda::PoolElements{problem}, ddx.data(),
                                ddout.data());
        }
        const PlaceOfMaximum* const places = places_of_maxima(device, problem, scratch, x.data());
        cuda::for_each(device, ddout.size(),
                       cuda::PickIndexed{cuda::input_layout(problem), cuda::output_layout(problem)},
                       ddx.data(), places, ddout.data());
      });
    }
  }
  if (problem.pooling == Pooling::kAverage) {
    return [pool = prepare<T>(problem), ddx, ddout] { pool(ddx.data(), ddout.data()); };
  }
  return [pick = prepare_pick<T>(problem), x, ddx, ddout] {
    pick(x.data(), ddx.data(), ddout.data());
  };
}

OpDef with_attrs(OpDef def, std::size_t axes) {
  return with_pool_attrs(std::move(def).required_attr("pooling_type", std::string("max"),
                                                      "'max' or 'avg'", {"max", "avg"}),
                         axes)
      .attr("ceil_mode", false, "also windows that reach beyond the padded X at the end")
      .attr("use_cudnn", false, "accepted, without effect")
      .attr("data_format", std::string("AnyLayout"), data_format_doc(axes));
}

void add_pool(OpRegistry& registry,
              const std::string& type,
              std::size_t axes,
              const std::string& where) {
  registry.add(
      with_attrs(OpDef(type), axes)
          .doc("Out = the maximum or the mean of the window of X that begins at " + where +
               " stride - padding. Padding is never the maximum and does not count in the mean. "
               "Extents: (in + 2 padding - ksize) / stride + 1, rounded down (up with ceil_mode).")
          .input("X", layout_doc(axes) + " or, see data_format, with the channels last; floating")
          .output("Out", "[N, C, out " + axes_doc(axes).substr(1) + ", or as X")
          .images({"data_format", layout_name(axes, true), {"X", "Out"}})
          .infer([axes](InferContext& context) {
            context.set_output("Out",
                               {checked_pool_shape(context, axes), context.input("X").dtype});
          })
          .kernels(floating_kernels_everywhere(
              [](auto tag) -> KernelFactory { return pool<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(with_attrs(OpDef(type + "_grad"), axes)
                   .doc("X@GRAD: the gradient of a maximum goes to the first greatest element of "
                        "its window, that "
                        "of a mean to all elements of its window in equal parts.")
                   .input("X", "input of the forward operator", {.needs_no_gradient = true})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .images({"data_format", layout_name(axes, true), {"X", "Out@GRAD", "X@GRAD"}})
                   .infer([axes](InferContext& context) {
                     require_shape(context, "Out@GRAD", checked_pool_shape(context, axes));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return pool_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.type = type + "_grad_grad",
                                       .input = "X@GRAD@GRAD",
                                       .output = "Out@GRAD@GRAD",
                                       .kept = {"X"}})));
  registry.add(with_attrs(OpDef(type + "_grad_grad"), axes)
                   .doc("Out@GRAD@GRAD: of a maximum, the element of X@GRAD@GRAD where X has the "
                        "first greatest element of the window; else the mean of the window.")
                   .input("X", "input of " + type, {.needs_no_gradient = true})
                   .input("X@GRAD@GRAD", "gradient of X@GRAD, shape of X")
                   .output("Out@GRAD@GRAD", "gradient of Out@GRAD, shape of Out")
                   .infer([axes](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     require_shape(context, "X@GRAD@GRAD", x.shape);
                     context.set_output("Out@GRAD@GRAD",
                                        {checked_pool_shape(context, axes), x.dtype});
                   })
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return pool_grad_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.from = "X@GRAD@GRAD",
                                       .to = "Out@GRAD@GRAD",
                                       .type = type + "_grad",
                                       .input = "Out@GRAD",
                                       .output = "X@GRAD",
                                       .kept = {"X"}})));
}

}  // namespace

void register_pool_ops(OpRegistry& registry) {
  add_pool(registry, "pool1d", 1, "its number times");
  add_pool(registry, "pool2d", 2, "its row and column times");
  add_pool(registry, "pool3d", 3, "its layer, row and column times");
}

}  // namespace fluidcore
