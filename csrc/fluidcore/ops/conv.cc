#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "fluidcore/kernels/cpu/direct_conv.h"
#include "fluidcore/kernels/cpu/small_image_conv.h"
#include "fluidcore/kernels/cpu/winograd.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/ops/bilinear.h"
#include "fluidcore/ops/conv_form.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/epilogue.h"
#include "fluidcore/ops/flops.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/through_float32.h"
#include "fluidcore/ops/window_attrs.h"

namespace fluidcore {

namespace {

template <std::size_t kAxes>
Shape conv_shape(const InferContext& context) {
  const std::string filter_doc = "[M, C / groups, " + kernel_doc(kAxes) + "]";
  check_conv_inputs(context, kAxes, filter_doc);
  const Shape in = channels_first(context, context.input("Input").shape);
  const Shape& filter = context.input("Filter").shape;
  const ConvAttrs attrs = conv_attrs(context, kAxes);
  const std::int64_t groups = attrs.groups;
  require(in[1] == -1 || (in[1] % groups == 0 && compatible(in[1] / groups, filter[1])),
          context.type(),
          ": channels of Input must equal groups times dimension 1 of Filter, got Input ", in,
          ", Filter ", filter, ", groups ", groups);
  require(filter[0] == -1 || groups == 1 || (filter[0] >= groups && filter[0] % groups == 0),
          context.type(), ": filters must be a multiple of groups, got Filter ", filter,
          ", groups ", groups);
  const Spatial out = conv_extents(spatial_of(in), spatial_of(filter), attrs);
  for (const std::int64_t extent : out) {
    require(extent != 0, context.type(), ": Filter must fit into the padded Input, got Input ", in,
            ", Filter ", filter, ", paddings ", shown(attrs.pad, kAxes), ", dilations ",
            shown(attrs.dilation, kAxes));
  }
  const Shape shape = image_shape(in[0], filter[0], out, kAxes);
  check_extents(context, "Output", shape);
  return in_data_format(context, shape);
}

// Every channel of Input has filters of its own.
Shape depthwise_shape(const InferContext& context) {
  const Shape shape = conv_shape<2>(context);
  const Shape in = channels_first(context, context.input("Input").shape);
  const auto groups = context.attr<std::int64_t>("groups");
  require(compatible(in[1], groups), context.type(), ": groups must be the channels of Input, got ",
          "groups ", groups, ", Input ", in);
  return shape;
}

// Rows are images, or planes where there is one image only.
Kernel direct_conv(const ConvProblem& problem,
                   Arg<const float> input,
                   Arg<const float> filter,
                   Arg<float> output) {
  const std::int64_t planes = problem.batch * problem.filters;
  const bool has_images = problem.batch > 1;
  RowPart part{.out = {output.cell(), has_images ? problem.batch : planes},
               .in = {{input.cell(), problem.batch}, {filter.cell(), 1}}};
  part.run = [plane = problem.out_plane(), filters = problem.filters,
              image = problem.channels * problem.in_plane(),
              conv = cpu::prepare_direct_conv(problem)](std::int64_t begin, std::int64_t size,
                                                        const RowSlice& out, const RowSlice* in) {
    const std::int64_t first = begin / plane;
    conv(first, size / plane, at<const float>(in[0], first / filters * image),
         static_cast<const float*>(in[1].data), at<float>(out, begin));
  };
  return RowKernel(std::move(part));
}

template <class T>
Kernel conv(const KernelContext& context) {
  const auto input = context.input<T>("Input");
  const auto filter = context.input<T>("Filter");
  const auto output = context.output<T>("Output");
  const ConvProblem problem = conv_problem(context, input.shape(), filter.shape());
  if constexpr (std::is_same_v<T, float>) {
    const bool on_cpu = !context.is_on_cuda();
    if (on_cpu && cpu::direct_conv_pays(problem)) {
      return direct_conv(problem, input, filter, output);
    }
    if (on_cpu && cpu::small_image_conv_pays(problem)) {
      return fused_kernel(cpu::prepare_small_image_conv(problem, context.scratch()), input, filter,
                          output, problem.filters);
    }
    if (on_cpu && cpu::winograd_pays(problem)) {
      return fused_kernel(cpu::prepare_winograd(problem, context.scratch()), input, filter, output,
                          problem.filters);
    }
  }
  const PreparedWeights<T> forward = prepare_conv<T>(context, problem);
  if (!forward) return through_float32(context);
  return work_kernel(context, [=] {
    forward(input.data(), filter.data(), filter.cell()->version, output.data());
  });
}

template <class T>
Kernel conv_grad(const KernelContext& context) {
  const auto input = context.input<T>("Input");
  const auto filter = context.input<T>("Filter");
  const auto dout = context.input<T>("Output@GRAD");
  const auto dinput = context.optional_output<T>("Input@GRAD");
  const auto dfilter = context.optional_output<T>("Filter@GRAD");
  const ConvProblem problem = conv_problem(context, input.shape(), filter.shape());
  Prepared2<T> to_input;
  Prepared2<T> to_filter;
  if (dinput) to_input = prepare_conv_input_grad<T>(context, problem);
  if (dfilter) to_filter = prepare_conv_filter_grad<T>(context, problem);
  if ((dinput && !to_input) || (dfilter && !to_filter)) return through_float32(context);
  return work_kernel(context, [=] {
    if (to_input) to_input(dout.data(), filter.data(), dinput.data());
    if (to_filter) to_filter(input.data(), dout.data(), dfilter.data());
  });
}

// Of which oneDNN has kernels for channels that come last.
constexpr const char* kFasterFilter = onednn::kEnabled ? "Filter" : "";

using ShapeOf = Shape (*)(const InferContext&);

// A convolution `type` and its gradient; `shape` checks the inputs and gives the shape of Output.
void add_conv(OpRegistry& registry,
              const std::string& type,
              std::size_t axes,
              const std::string& doc,
              ShapeOf shape) {
  const std::string last = layout_name(axes, true);
  const std::string layout = layout_doc(axes) + " or, see data_format, with the channels last";
  registry.add(with_conv_attrs(OpDef(type), axes)
                   .doc(doc)
                   .input("Input", layout + ", floating")
                   .input("Filter", "[M, C / groups, " + kernel_doc(axes) + "]")
                   .output("Output", "[N, M, out " + axes_doc(axes).substr(1) + ", or as Input")
                   .images({"data_format", last, {"Input", "Output"}, kFasterFilter})
                   .infer([shape](InferContext& context) {
                     context.set_output("Output", {shape(context), context.input("Input").dtype});
                   })
                   .flops(flops_of_pairs([](const InferContext& context) {
                     return conv_pairs(context.output("Output").shape,
                                       context.input("Filter").shape);
                   }))
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return conv<typename decltype(tag)::type>;
                   }))
                   .grad(standard_grad({.inputs = {"Input", "Filter"},
                                        .differentiable = {"Input", "Filter"},
                                        .cotangents = {"Output"}})));
  registry.add(
      with_conv_attrs(OpDef(type + "_grad"), axes)
          .doc("The gradients of " + type +
               ": Input@GRAD is the convolution of Output@GRAD with the mirrored Filter, "
               "Filter@GRAD that of Input with Output@GRAD.")
          .input("Input", "input of the forward operator", {.read_for = "Filter@GRAD"})
          .input("Filter", "input of the forward operator", {.read_for = "Input@GRAD"})
          .input("Output@GRAD", "gradient of Output, shape of Output")
          .output("Input@GRAD", "gradient of Input, shape of Input")
          .output("Filter@GRAD", "gradient of Filter, shape of Filter")
          .images({"data_format", last, {"Input", "Output@GRAD", "Input@GRAD"}, kFasterFilter})
          .infer([shape](InferContext& context) {
            require_shape(context, "Output@GRAD", shape(context));
            infer_grads_like_inputs(context);
          })
          .flops(flops_of_pairs([](const InferContext& context) {
            return conv_pairs(context.input("Output@GRAD").shape, context.input("Filter").shape);
          }))
          .kernels(floating_kernels_everywhere(
              [](auto tag) -> KernelFactory { return conv_grad<typename decltype(tag)::type>; }))
          .grad(bilinear_grad_grad(type, "Input", "Filter", "Output")));
}

}  // namespace

void register_conv_ops(OpRegistry& registry) {
  const std::string extents =
      "Input is 0 outside. Extents: (in + 2 padding - (dilation (kernel - 1) + 1)) / stride + 1.";
  add_conv(registry, "conv1d", 1,
           "Output[n, m, x] = sum over c, i of Filter[m, c, i] Input[n, c, x stride + i dilation - "
           "padding]; " +
               extents,
           conv_shape<1>);
  add_conv(registry, "conv2d", 2,
           "Output[n, m, y, x] = sum over c, i, j of Filter[m, c, i, j] Input[n, c, y stride + i "
           "dilation - padding, x stride + j dilation - padding]; " +
               extents,
           conv_shape<2>);
  add_conv(registry, "conv3d", 3,
           "conv2d over three axes: Filter is moved along depth, height and width. " + extents,
           conv_shape<3>);
  add_conv(registry, "depthwise_conv2d", 2,
           "conv2d where each channel is a group of its own: groups are the channels of Input.",
           depthwise_shape);
}

}  // namespace fluidcore
