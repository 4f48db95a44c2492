#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/ops/conv_form.h"
#include "fluidcore/ops/elementwise.h"
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
  const Shape& in = context.input("Input").shape;
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
    require(out[i] == -1 || out[i] >= 1, context.type(),
            ": paddings must leave something of Output, got Input ", in, ", Filter ", filter,
            ", paddings ", shown(attrs.pad, axes));
  }
  const Shape shape =
      image_shape(in[0], filter[1] == -1 ? -1 : filter[1] * attrs.groups, out, axes);
  check_extents(context, "Output", shape);
  return shape;
}

// The convolution that Input would be the output of: it takes Output to Input.
template <class T>
Kernel conv_transpose(const KernelContext& context) {
  const auto input = context.input<T>("Input");
  const auto filter = context.input<T>("Filter");
  const auto output = context.output<T>("Output");
  return
      [forward = prepare_conv_input_grad<T>(conv_problem(context, output.shape(), filter.shape())),
       input, filter, output] { forward(input.data(), filter.data(), output.data()); };
}

bool is_wanted(const std::vector<std::string>& names) {
  return !names.empty() && names[0] != kEmptyName;
}

// The gradient maker of an operator that is the gradient of `conv` with respect to its input.
GradMaker transposed_grad(std::string conv) {
  return [conv = std::move(conv)](GradContext& context) {
    const std::vector<std::string> incoming = context.output_grad("Output");
    const std::vector<std::string> to_input = context.input_grad("Input");
    const std::vector<std::string> to_filter = context.input_grad("Filter");
    const AttributeMap& attrs = context.forward().attrs();
    std::vector<OpDesc> ops;
    if (!is_wanted(incoming)) return ops;
    const SlotMap inputs{{"Input", incoming}, {"Filter", context.input("Filter")}};
    if (is_wanted(to_input)) ops.emplace_back(conv, inputs, SlotMap{{"Output", to_input}}, attrs);
    if (is_wanted(to_filter)) {
      SlotMap more = inputs;
      more["Output@GRAD"] = context.input("Input");
      ops.emplace_back(
          conv + "_grad", std::move(more),
          SlotMap{{"Input@GRAD", {std::string(kEmptyName)}}, {"Filter@GRAD", to_filter}}, attrs);
    }
    return ops;
  };
}

void add_conv_transpose(OpRegistry& registry, std::size_t axes, const std::string& conv) {
  registry.add(
      with_conv_attrs(OpDef(conv + "_transpose"), axes)
          .doc("What " + conv +
               " does to gradients: each element of Input adds Filter times itself to Output, "
               "where it is that " +
               conv +
               " would read from. paddings are cut off Output. Extents: (in - 1) stride - 2 "
               "padding + dilation (kernel - 1) + 1.")
          .input("Input", layout_doc(axes) + ", floating")
          .input("Filter", "[C, M / groups, " + kernel_doc(axes) + "]")
          .output("Output", "[N, M, out " + axes_doc(axes).substr(1))
          .infer([axes](InferContext& context) {
            context.set_output("Output",
                               {transposed_shape(context, axes), context.input("Input").dtype});
          })
          .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
            return conv_transpose<typename decltype(tag)::type>;
          }))
          .grad(transposed_grad(conv)));
}

}  // namespace

void register_conv_transpose_ops(OpRegistry& registry) {
  add_conv_transpose(registry, 2, "conv2d");
  add_conv_transpose(registry, 3, "conv3d");
}

}  // namespace fluidcore
