#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "fluidcore/kernels/cpu/pool2d.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/window_attrs.h"

namespace fluidcore {

namespace {

struct Windows {
  HeightWidth kernel;
  HeightWidth stride;
  HeightWidth pad;
};

template <class Context>
Windows windows(const Context& context, const Shape& x) {
  if (context.template attr<bool>("global_pooling")) return {{x[2], x[3]}, {1, 1}, {0, 0}};
  const HeightWidth kernel = height_width(context, "ksize", 1);
  const HeightWidth pad = height_width(context, "paddings", 0);
  require(pad.height < kernel.height && pad.width < kernel.width, context.type(),
          ": paddings must be smaller than ksize, got paddings ", Shape{pad.height, pad.width},
          ", ksize ", Shape{kernel.height, kernel.width});
  return {kernel, height_width(context, "strides", 1), pad};
}

std::int64_t out_extent(
    std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t pad, bool ceil_mode) {
  if (in == -1 || kernel == -1) return -1;
  const std::int64_t room = in + 2 * pad - kernel;
  if (in == 0 || room < 0) return 0;
  std::int64_t out = (ceil_mode ? room + stride - 1 : room) / stride + 1;
  // A window that begins behind the input would hold nothing but padding.
  if (ceil_mode && (out - 1) * stride >= in + pad) --out;
  return out;
}

template <class Context>
Shape out_shape(const Context& context, const Shape& x) {
  const Windows w = windows(context, x);
  const bool ceil_mode = context.template attr<bool>("ceil_mode");
  return {x[0], x[1], out_extent(x[2], w.kernel.height, w.stride.height, w.pad.height, ceil_mode),
          out_extent(x[3], w.kernel.width, w.stride.width, w.pad.width, ceil_mode)};
}

Shape pool2d_shape(const InferContext& context) {
  require_rank(context, "X", 4, "[N, C, H, W]");
  check_data_format(context);
  const Shape& x = context.input("X").shape;
  check_plane(context, "X", x);
  const Shape out = out_shape(context, x);
  require(out[2] != 0 && out[3] != 0, context.type(),
          ": a window must fit into the padded X, got X ", x, ", ksize ",
          Shape(context.attr<std::vector<std::int64_t>>("ksize")), ", paddings ",
          Shape(context.attr<std::vector<std::int64_t>>("paddings")));
  return out;
}

Pool2dProblem pool2d_problem(const KernelContext& context, const Shape& x) {
  const Windows w = windows(context, x);
  const Shape out = out_shape(context, x);
  return {.pooling = context.attr<std::string>("pooling_type") == "max" ? Pooling::kMax
                                                                        : Pooling::kAverage,
          .batch = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .kernel_height = w.kernel.height,
          .kernel_width = w.kernel.width,
          .out_height = out[2],
          .out_width = out[3],
          .stride_height = w.stride.height,
          .stride_width = w.stride.width,
          .pad_height = w.pad.height,
          .pad_width = w.pad.width};
}

template <class T>
Prepared1<T> prepare(const Pool2dProblem& problem) {
  if constexpr (onednn::kEnabled && std::is_same_v<T, float>) {
    if (Prepared1<float> prepared = onednn::prepare_pool2d(problem)) return prepared;
  }
  return cpu::prepare_pool2d<T>(problem);
}

template <class T>
Prepared2<T> prepare_grad(const Pool2dProblem& problem) {
  if constexpr (onednn::kEnabled && std::is_same_v<T, float>) {
    if (Prepared2<float> prepared = onednn::prepare_pool2d_grad(problem)) return prepared;
  }
  return cpu::prepare_pool2d_grad<T>(problem);
}

template <class T>
Kernel pool2d(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  return [pool = prepare<T>(pool2d_problem(context, x.shape())), x, out] {
    pool(x.data(), out.data());
  };
}

template <class T>
Kernel pool2d_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto dout = context.input<T>("Out@GRAD");
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  return [grad = prepare_grad<T>(pool2d_problem(context, x.shape())), x, dout, dx] {
    grad(x.data(), dout.data(), dx.data());
  };
}

template <class T>
Kernel pool2d_grad_grad(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto ddx = context.input<T>("X@GRAD@GRAD");
  const auto ddout = context.output<T>("Out@GRAD@GRAD");
  const Pool2dProblem problem = pool2d_problem(context, x.shape());
  if (problem.pooling == Pooling::kAverage) {
    return [pool = prepare<T>(problem), ddx, ddout] { pool(ddx.data(), ddout.data()); };
  }
  return [pick = cpu::prepare_pool2d_pick<T>(problem), x, ddx, ddout] {
    pick(x.data(), ddx.data(), ddout.data());
  };
}

OpDef with_attrs(OpDef def) {
  return std::move(def)
      .required_attr("pooling_type", std::string("max"), "'max' or 'avg'", {"max", "avg"})
      .required_attr("ksize", std::vector<std::int64_t>{2, 2},
                     "extents of a window: [height, width]")
      .attr("global_pooling", false,
            "one window for the whole plane; ksize, strides and paddings are not used")
      .attr("strides", std::vector<std::int64_t>{1, 1}, "steps of the window: [height, width]")
      .attr("paddings", std::vector<std::int64_t>{0, 0},
            "elements on both sides of X that take no part: [height, width]; smaller than ksize")
      .attr("ceil_mode", false, "also windows that reach beyond the padded X at the end")
      .attr("use_cudnn", false, "accepted, without effect")
      .attr("data_format", std::string("AnyLayout"), "'AnyLayout' or 'NCHW', which are the same");
}

}  // namespace

void register_pool_ops(OpRegistry& registry) {
  registry.add(
      with_attrs(OpDef("pool2d"))
          .doc("Out[n, c, y, x] = the maximum or the mean of the window of X[n, c] that begins at "
               "row y stride - "
               "padding, column x stride - padding. Padding is never the maximum and does not "
               "count in the mean. "
               "Extents: (in + 2 padding - ksize) / stride + 1, rounded down (up with ceil_mode).")
          .input("X", "[N, C, H, W], floating")
          .output("Out", "[N, C, out height, out width]")
          .infer([](InferContext& context) {
            context.set_output("Out", {pool2d_shape(context), context.input("X").dtype});
          })
          .kernels(cpu_kernels<float, double>(
              [](auto tag) -> KernelFactory { return pool2d<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X"}, .differentiable = {"X"}})));
  registry.add(with_attrs(OpDef("pool2d_grad"))
                   .doc("X@GRAD: the gradient of a maximum goes to the first greatest element of "
                        "its window, that "
                        "of a mean to all elements of its window in equal parts.")
                   .input("X", "input of the forward operator", {.needs_no_gradient = true})
                   .input("Out@GRAD", "gradient of Out, shape of Out")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .infer([](InferContext& context) {
                     require_shape(context, "Out@GRAD", pool2d_shape(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
                     return pool2d_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.type = "pool2d_grad_grad",
                                       .input = "X@GRAD@GRAD",
                                       .output = "Out@GRAD@GRAD",
                                       .kept = {"X"}})));
  registry.add(with_attrs(OpDef("pool2d_grad_grad"))
                   .doc("Out@GRAD@GRAD: of a maximum, the element of X@GRAD@GRAD where X has the "
                        "first greatest element of the window; else the mean of the window.")
                   .input("X", "input of pool2d", {.needs_no_gradient = true})
                   .input("X@GRAD@GRAD", "gradient of X@GRAD, shape of X")
                   .output("Out@GRAD@GRAD", "gradient of Out@GRAD, shape of Out")
                   .infer([](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     require_shape(context, "X@GRAD@GRAD", x.shape);
                     context.set_output("Out@GRAD@GRAD", {pool2d_shape(context), x.dtype});
                   })
                   .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
                     return pool2d_grad_grad<typename decltype(tag)::type>;
                   }))
                   .grad(adjoint_grad({.from = "X@GRAD@GRAD",
                                       .to = "Out@GRAD@GRAD",
                                       .type = "pool2d_grad",
                                       .input = "Out@GRAD",
                                       .output = "X@GRAD",
                                       .kept = {"X"}})));
}

}  // namespace fluidcore
