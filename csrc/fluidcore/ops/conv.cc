#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "fluidcore/kernels/cpu/conv2d.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/ops/bilinear.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/window_attrs.h"

namespace fluidcore {

namespace {

// (in + 2 pad - (dilation (kernel - 1) + 1)) / stride + 1; -1 if `in` is unknown.
std::int64_t out_extent(std::int64_t in,
                        std::int64_t kernel,
                        std::int64_t stride,
                        std::int64_t pad,
                        std::int64_t dilation) {
  if (in == -1 || kernel == -1) return -1;
  const std::int64_t room = in + 2 * pad - (dilation * (kernel - 1) + 1);
  return room < 0 ? 0 : room / stride + 1;
}

template <class Context>
std::int64_t checked_groups(const Context& context) {
  const auto groups = context.template attr<std::int64_t>("groups");
  require(groups >= 1, context.type(), ": groups must be at least 1, got ", groups);
  return groups;
}

Shape conv2d_shape(const InferContext& context) {
  require_rank(context, "Input", 4, "[N, C, H, W]");
  require_rank(context, "Filter", 4, "[M, C / groups, kernel height, kernel width]");
  check_data_format(context);
  const Shape& in = context.input("Input").shape;
  const Shape& filter = context.input("Filter").shape;
  const HeightWidth stride = height_width(context, "strides", 1);
  const HeightWidth pad = height_width(context, "paddings", 0);
  const HeightWidth dilation = height_width(context, "dilations", 1);
  check_plane(context, "Input", in);
  check_plane(context, "Filter", filter);
  const std::int64_t groups = checked_groups(context);
  require(in[1] == -1 || (in[1] % groups == 0 && compatible(in[1] / groups, filter[1])),
          context.type(),
          ": channels of Input must equal groups times dimension 1 of Filter, got Input ", in,
          ", Filter ", filter, ", groups ", groups);
  require(filter[0] == -1 || groups == 1 || (filter[0] >= groups && filter[0] % groups == 0),
          context.type(), ": filters must be a multiple of groups, got Filter ", filter,
          ", groups ", groups);
  require(filter[2] != 0 && filter[3] != 0, context.type(),
          ": Filter must have a height and width of at least 1, got ", filter);
  const Shape out{in[0], filter[0],
                  out_extent(in[2], filter[2], stride.height, pad.height, dilation.height),
                  out_extent(in[3], filter[3], stride.width, pad.width, dilation.width)};
  require(out[2] != 0 && out[3] != 0, context.type(),
          ": Filter must fit into the padded Input, got Input ", in, ", Filter ", filter,
          ", paddings ", Shape{pad.height, pad.width}, ", dilations ",
          Shape{dilation.height, dilation.width});
  return out;
}

Conv2dProblem conv2d_problem(const KernelContext& context, const Shape& in, const Shape& filter) {
  const HeightWidth stride = height_width(context, "strides", 1);
  const HeightWidth pad = height_width(context, "paddings", 0);
  const HeightWidth dilation = height_width(context, "dilations", 1);
  return {.batch = in[0],
          .channels = in[1],
          .height = in[2],
          .width = in[3],
          .filters = filter[0],
          .kernel_height = filter[2],
          .kernel_width = filter[3],
          .out_height = out_extent(in[2], filter[2], stride.height, pad.height, dilation.height),
          .out_width = out_extent(in[3], filter[3], stride.width, pad.width, dilation.width),
          .stride_height = stride.height,
          .stride_width = stride.width,
          .pad_height = pad.height,
          .pad_width = pad.width,
          .dilation_height = dilation.height,
          .dilation_width = dilation.width,
          .groups = context.attr<std::int64_t>("groups")};
}

// oneDNN's function for float32 where there is one, else the plain one.
template <class T>
using Prepare = Prepared2<T> (*)(const Conv2dProblem&);
template <class T>
Prepared2<T> choose(const Conv2dProblem& problem, Prepare<float> fast, Prepare<T> plain) {
  if constexpr (std::is_same_v<T, float>) {
    if (fast != nullptr) {
      if (Prepared2<float> prepared = fast(problem)) return prepared;
    }
  }
  return plain(problem);
}

struct FastConv2d {
  Prepare<float> forward = nullptr;
  Prepare<float> input_grad = nullptr;
  Prepare<float> filter_grad = nullptr;
};
template <class T>
constexpr FastConv2d fast_conv2d() {
  if constexpr (onednn::kEnabled && std::is_same_v<T, float>) {
    return {onednn::prepare_conv2d, onednn::prepare_conv2d_input_grad,
            onednn::prepare_conv2d_filter_grad};
  }
  return {};
}

template <class T>
Kernel conv2d(const KernelContext& context) {
  const auto input = context.input<T>("Input");
  const auto filter = context.input<T>("Filter");
  const auto output = context.output<T>("Output");
  const Conv2dProblem problem = conv2d_problem(context, input.shape(), filter.shape());
  return [forward = choose<T>(problem, fast_conv2d<T>().forward, cpu::prepare_conv2d<T>), input,
          filter, output] { forward(input.data(), filter.data(), output.data()); };
}

template <class T>
Kernel conv2d_grad(const KernelContext& context) {
  const auto input = context.input<T>("Input");
  const auto filter = context.input<T>("Filter");
  const auto dout = context.input<T>("Output@GRAD");
  const auto dinput = context.optional_output<T>("Input@GRAD");
  const auto dfilter = context.optional_output<T>("Filter@GRAD");
  const Conv2dProblem problem = conv2d_problem(context, input.shape(), filter.shape());
  Prepared2<T> to_input;
  Prepared2<T> to_filter;
  if (dinput)
    to_input = choose<T>(problem, fast_conv2d<T>().input_grad, cpu::prepare_conv2d_input_grad<T>);
  if (dfilter)
    to_filter =
        choose<T>(problem, fast_conv2d<T>().filter_grad, cpu::prepare_conv2d_filter_grad<T>);
  return [=] {
    if (to_input) to_input(dout.data(), filter.data(), dinput.data());
    if (to_filter) to_filter(input.data(), dout.data(), dfilter.data());
  };
}

OpDef with_attrs(OpDef def) {
  return std::move(def)
      .attr("strides", std::vector<std::int64_t>{1, 1}, "steps of the filter: [height, width]")
      .attr("paddings", std::vector<std::int64_t>{0, 0},
            "zeros on both sides of Input: [height, width]")
      .attr("dilations", std::vector<std::int64_t>{1, 1},
            "distances of the filter's elements: [height, width]; 1: they are neighbours")
      .attr("groups", std::int64_t{1},
            "Input's channels and the filters are cut into this many groups that do not see each "
            "other")
      .attr("use_cudnn", false, "accepted, without effect")
      .attr("data_format", std::string("AnyLayout"), "'AnyLayout' or 'NCHW', which are the same")
      .attr("workspace_size_MB", std::int64_t{4096}, "accepted, without effect");
}

}  // namespace

void register_conv_ops(OpRegistry& registry) {
  registry.add(with_attrs(OpDef("conv2d"))
                   .doc("Output[n, m, y, x] = sum over c, i, j of Filter[m, c, i, j] Input[n, c, y "
                        "stride + i dilation - "
                        "padding, x stride + j dilation - padding]; Input is 0 outside. Extents: "
                        "(in + 2 padding - (dilation "
                        "(kernel - 1) + 1)) / stride + 1.")
                   .input("Input", "[N, C, H, W], floating")
                   .input("Filter", "[M, C / groups, kernel height, kernel width]")
                   .output("Output", "[N, M, out height, out width]")
                   .infer([](InferContext& context) {
                     context.set_output("Output",
                                        {conv2d_shape(context), context.input("Input").dtype});
                   })
                   .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
                     return conv2d<typename decltype(tag)::type>;
                   }))
                   .grad(standard_grad({.inputs = {"Input", "Filter"},
                                        .differentiable = {"Input", "Filter"},
                                        .cotangents = {"Output"}})));
  registry.add(with_attrs(OpDef("conv2d_grad"))
                   .doc("The gradients of conv2d: Input@GRAD is the convolution of Output@GRAD "
                        "with the mirrored "
                        "Filter, Filter@GRAD that of Input with Output@GRAD.")
                   .input("Input", "input of the forward operator", {.read_for = "Filter@GRAD"})
                   .input("Filter", "input of the forward operator", {.read_for = "Input@GRAD"})
                   .input("Output@GRAD", "gradient of Output, shape of Output")
                   .output("Input@GRAD", "gradient of Input, shape of Input")
                   .output("Filter@GRAD", "gradient of Filter, shape of Filter")
                   .infer([](InferContext& context) {
                     require_shape(context, "Output@GRAD", conv2d_shape(context));
                     infer_grads_like_inputs(context);
                   })
                   .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
                     return conv2d_grad<typename decltype(tag)::type>;
                   }))
                   .grad(bilinear_grad_grad("conv2d", "Input", "Filter", "Output")));
}

}  // namespace fluidcore
