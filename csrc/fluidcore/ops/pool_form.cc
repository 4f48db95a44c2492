#include "fluidcore/ops/pool_form.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fluidcore {

namespace {

struct Windows {
  Spatial kernel;
  Spatial stride;
  Spatial pad;
};

template <class Context>
bool is_adaptive(const Context& context) {
  return context.template attr<bool>("adaptive") && !context.template attr<bool>("global_pooling");
}

template <class Context>
Windows windows(const Context& context, const Shape& x) {
  const std::size_t axes = x.rank() - 2;
  if (context.template attr<bool>("global_pooling")) return {spatial_of(x), {1, 1, 1}, {0, 0, 0}};
  const Spatial kernel = window_attr(context, "ksize", axes, 1);
  const Spatial pad = window_attr(context, "paddings", axes, 0);
  for (std::size_t i = 0; i < pad.size(); ++i) {
    require(pad[i] < kernel[i], context.type(),
            ": paddings must be smaller than ksize, got paddings ", shown(pad, axes), ", ksize ",
            shown(kernel, axes));
  }
  return {kernel, window_attr(context, "strides", axes, 1), pad};
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
Spatial pool_extents(const Context& context, const Shape& x, bool ceil_mode) {
  const Spatial in = spatial_of(x);
  Spatial out{};
  if (is_adaptive(context)) {
    out = window_attr(context, "ksize", x.rank() - 2, 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (in[i] == 0) out[i] = 0;
    }
    return out;
  }
  const Windows w = windows(context, x);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = out_extent(in[i], w.kernel[i], w.stride[i], w.pad[i], ceil_mode);
  }
  return out;
}

}  // namespace

OpDef with_pool_attrs(OpDef def, std::size_t axes) {
  const std::string each = ": " + axes_doc(axes);
  return std::move(def)
      .required_attr("ksize", std::vector<std::int64_t>(axes, 2), "extents of a window" + each)
      .attr("global_pooling", false,
            "one window for the whole plane; ksize, strides and paddings are not used")
      .attr("adaptive", false,
            "ksize are the extents of Out, and output i is of the elements from floor(i in / out) "
            "to ceil((i + 1) in / out), not included; strides and paddings are not used")
      .attr("strides", std::vector<std::int64_t>(axes, 1), "steps of the window" + each)
      .attr("paddings", std::vector<std::int64_t>(axes, 0),
            "elements on both sides of X that take no part" + each + "; smaller than ksize");
}

Shape pool_shape(const InferContext& context, const Shape& x, bool ceil_mode) {
  const std::size_t axes = x.rank() - 2;
  check_extents(context, "X", x);
  const Spatial out = pool_extents(context, x, ceil_mode);
  for (const std::int64_t extent : out) {
    require(extent != 0, context.type(), ": a window must fit into the padded X, got X ", x,
            ", ksize ", Shape(context.attr<std::vector<std::int64_t>>("ksize")), ", paddings ",
            Shape(context.attr<std::vector<std::int64_t>>("paddings")));
  }
  const Shape shape = image_shape(x[0], x[1], out, axes);
  check_extents(context, "Out", shape);
  return shape;
}

PoolProblem pool_problem(const KernelContext& context,
                         const Shape& x,
                         Pooling pooling,
                         bool ceil_mode) {
  PoolProblem problem{.pooling = pooling,
                      .axes = x.rank() - 2,
                      .batch = x[0],
                      .channels = x[1],
                      .in = spatial_of(x),
                      .out = pool_extents(context, x, ceil_mode)};
  if (!is_adaptive(context)) {
    const Windows w = windows(context, x);
    problem.kernel = w.kernel;
    problem.stride = w.stride;
    problem.pad = w.pad;
    return problem;
  }
  // Where every window has as many elements, these are windows like others.
  for (std::size_t i = 0; i < problem.in.size(); ++i) {
    problem.adaptive = problem.adaptive || problem.in[i] % problem.out[i] != 0;
    problem.kernel[i] = std::max<std::int64_t>(problem.in[i] / problem.out[i], 1);
  }
  problem.stride = problem.kernel;
  return problem;
}

}  // namespace fluidcore
