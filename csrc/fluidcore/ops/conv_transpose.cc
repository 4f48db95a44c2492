#include <cstddef>
#include <cstdint>
#include <string>

#include "fluidcore/ops/bilinear.h"
#include "fluidcore/ops/conv_form.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/flops.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/window_attrs.h"

namespace fluidcore {

namespace {

// (in - 1) stride - 2 pad + dilation (kernel - 1) + 1; -1 if `in` is unknown.
std::int64_t transposed_extent(std::int64_t in,
                               std::int64_t kernel,
                               std::int64_t stride,
                               std::int64_t pad,
                               std::int64_t dilation) {
  if (in == -1 || kernel == -1) return -1;
  return (in - 1) * stride - 2 * pad + dilation * (kernel - 1) + 1;
}

Shape transposed_shape(const InferContext& context, std::size_t axes) {
  check_conv_inputs(context, axes, "[C, M / groups, " + kernel_doc(axes) + "]");
  const Shape in = channels_first(context, context.input("Input").shape);
  const Shape& filter = context.input("Filter").shape;
  const ConvAttrs attrs = conv_attrs(context, axes);
  require(compatible(in[1], filter[0]), context.type(),
          ": channels of Input must equal dimension 0 of Filter, got Input ", in, ", Filter ",
          filter);
  require(filter[0] == -1 || attrs.groups == 1 ||
              (filter[0] >= attrs.groups && filter[0] % attrs.groups == 0),
          context.type(), ": channels of Input must be a multiple of groups, got Filter ", filter,
          ", groups ", attrs.groups);
  require(filter[1] <= kMostOfWindow && attrs.groups <= kMostOfWindow, context.type(),
          ": dimension 1 of Filter and groups must be at most ", kMostOfWindow, ", got Filter ",
          filter, ", groups ", attrs.groups);
  const Spatial extents = spatial_of(in);
  const Spatial kernel = spatial_of(filter);
  Spatial out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    require(extents[i] != 0, context.type(), ": Input must have ", axes_phrase(axes),
            " of at least 1, got ", in);
    out[i] =
        transposed_extent(extents[i], kernel[i], attrs.stride[i], attrs.pad[i], attrs.dilation[i]);
    const bool is_known = extents[i] != -1 && kernel[i] != -1;
    require(!is_known || out[i] >= 1, context.type(),
            ": paddings must leave something of Output, got Input ", in, ", Filter ", filter,
            ", paddings ", shown(attrs.pad, axes));
  }
  const Shape shape =
      image_shape(in[0], filter[1] == -1 ? -1 : filter[1] * attrs.groups, out, axes);
  check_extents(context, "Output", shape);
  return in_data_format(context, shape);
}

// The convolution that Input would be the output of: it takes Output to Input.
template <class T>
Kernel conv_transpose(const KernelContext& context) {
  const auto input = context.input<T>("Input");
  const auto filter = context.input<T>("Filter");
  const auto output = context.output<T>("Output");
  const ConvProblem problem = conv_problem(context, output.shape(), filter.shape());
  return work_kernel(context, [=, forward = prepare_conv_input_grad<T>(context, problem)] {
    forward(input.data(), filter.data(), output.data());
  });
}

template <class T>
Kernel conv_transpose_grad(const KernelContext& context) {
  const auto input = context.input<T>("Input");
  const auto filter = context.input<T>("Filter");
  const auto dout = context.input<T>("Output@GRAD");
  const auto dinput = context.optional_output<T>("Input@GRAD");
  const auto dfilter = context.optional_output<T>("Filter@GRAD");
  const ConvProblem problem = conv_problem(context, dout.shape(), filter.shape());
  PreparedWeights<T> to_input;
  Prepared2<T> to_filter;
  if (dinput) to_input = prepare_conv<T>(context, problem);
  if (dfilter) to_filter = prepare_conv_filter_grad<T>(context, problem);
  return work_kernel(context, [=] {
    if (to_input) to_input(dout.data(), filter.data(), filter.cell()->version, dinput.data());
    if (to_filter) to_filter(dout.data(), input.data(), dfilter.data());
  });
}

void add_conv_transpose(OpRegistry& registry, std::size_t axes, const std::string& conv) {
  const std::string type = conv + "_transpose";
  registry.add(
      with_conv_attrs(OpDef(type), axes)
          .doc("What " + conv +
               " does to gradients: each element of Input adds Filter times itself to Output, "
               "where it is that " +
               conv +
               " would read from. paddings are cut off Output. Extents: (in - 1) stride - 2 "
               "padding + dilation (kernel - 1) + 1.")
          .input("Input", layout_doc(axes) + ", floating")
          .input("Filter", "[C, M / groups, " + kernel_doc(axes) + "]")
          .output("Output", "[N, M, out " + axes_doc(axes).substr(1))
          .images({"data_format", layout_name(axes, true), {"Input", "Output"}})
          .infer([axes](InferContext& context) {
            context.set_output("Output",
                               {transposed_shape(context, axes), context.input("Input").dtype});
          })
          .flops(flops_of_pairs([](const InferContext& context) {
            return conv_pairs(context.input("Input").shape, context.input("Filter").shape);
          }))
          .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
            return conv_transpose<typename decltype(tag)::type>;
          }))
          .grad(standard_grad({.inputs = {"Input", "Filter"},
                               .differentiable = {"Input", "Filter"},
                               .cotangents = {"Output"}})));
  registry.add(
      with_conv_attrs(OpDef(type + "_grad"), axes)
          .doc("The gradients of " + type + ": Input@GRAD is the " + conv +
               " of Output@GRAD with Filter, Filter@GRAD the gradient of its Filter for "
               "the cotangent Input.")
          .input("Input", "input of the forward operator", {.read_for = "Filter@GRAD"})
          .input("Filter", "input of the forward operator", {.read_for = "Input@GRAD"})
          .input("Output@GRAD", "gradient of Output, shape of Output")
          .output("Input@GRAD", "gradient of Input, shape of Input")
          .output("Filter@GRAD", "gradient of Filter, shape of Filter")
          .images({"data_format", layout_name(axes, true), {"Input", "Output@GRAD", "Input@GRAD"}})
          .infer([axes](InferContext& context) {
            require_shape(context, "Output@GRAD", transposed_shape(context, axes));
            infer_grads_like_inputs(context);
          })
          .flops(flops_of_pairs([](const InferContext& context) {
            return conv_pairs(context.input("Input").shape, context.input("Filter").shape);
          }))
          .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
            return conv_transpose_grad<typename decltype(tag)::type>;
          }))
          .grad(bilinear_grad_grad(type, "Input", "Filter", "Output")));
}

}  // namespace

void register_conv_transpose_ops(OpRegistry& registry) {
  add_conv_transpose(registry, 1, "conv1d");
  add_conv_transpose(registry, 2, "conv2d");
  add_conv_transpose(registry, 3, "conv3d");
}

}  // namespace fluidcore
