#include "fluidcore/ops/conv_form.h"

#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/conv.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cpu/interleaved_conv.h"
#include "fluidcore/kernels/cpu/winograd.h"
#include "fluidcore/kernels/cuda/conv.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/ops/channels_first.h"
#include "fluidcore/ops/infer_checks.h"

namespace fluidcore {

namespace {

// (in + 2 pad - (dilation (kernel - 1) + 1)) / stride + 1; -1 if `in` is unknown.
std::int64_t conv_extent(std::int64_t in,
                         std::int64_t kernel,
                         std::int64_t stride,
                         std::int64_t pad,
                         std::int64_t dilation) {
  if (in == -1 || kernel == -1) return -1;
  const std::int64_t room = in + 2 * pad - (dilation * (kernel - 1) + 1);
  return room < 0 ? 0 : room / stride + 1;
}

template <class T>
constexpr bool kHasOneDnnConv = std::is_same_v<T, float> || std::is_same_v<T, BFloat16>;

// The two images of a convolution, for kernels that want the channels first.
template <class T>
struct ConvImages {
  explicit ConvImages(const ConvProblem& p)
      : in(p.channels_last, {p.batch, p.channels, p.in_plane()}),
        out(p.channels_last, {p.batch, p.filters, p.out_plane()}) {}

  ChannelsFirst<T> in;
  ChannelsFirst<T> out;
};

}  // namespace

Spatial conv_extents(const Spatial& in, const Spatial& kernel, const ConvAttrs& attrs) {
  Spatial out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = conv_extent(in[i], kernel[i], attrs.stride[i], attrs.pad[i], attrs.dilation[i]);
  }
  return out;
}

ConvProblem conv_problem(const KernelContext& context, const Shape& image, const Shape& filter) {
  const std::size_t axes = image.rank() - 2;
  const Shape input = channels_first(context, image);
  const ConvAttrs attrs = conv_attrs(context, axes);
  const Spatial in = spatial_of(input);
  const Spatial kernel = spatial_of(filter);
  return {.channels_last = has_channels_last(context, axes),
          .axes = axes,
          .batch = input[0],
          .channels = input[1],
          .filters = filter[0],
          .groups = attrs.groups,
          .in = in,
          .kernel = kernel,
          .out = conv_extents(in, kernel, attrs),
          .stride = attrs.stride,
          .pad = attrs.pad,
          .dilation = attrs.dilation};
}

template <class T>
PreparedWeights<T> prepare_conv(const KernelContext& context, const ConvProblem& problem) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return [conv = cuda::prepare_conv<T>(context.device(), problem, context.scratch())](
                 const T* input, const T* filter, std::uint64_t /*version*/, T* output) {
        conv(input, filter, output);
      };
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (cpu::winograd_pays(problem)) {
      return [conv = cpu::prepare_winograd(problem, context.scratch())](
                 const T* input, const T* filter, std::uint64_t version, T* output) {
        conv(input, filter, version, output, {});
      };
    }
  }
  if constexpr (onednn::kEnabled && kHasOneDnnConv<T>) {
    if (PreparedWeights<T> prepared = onednn::prepare_conv<T>(problem)) return prepared;
  }
  if constexpr (cpu::kIsHalf<T>) {
    return {};
  } else {
    const ConvImages<T> images(problem);
    return [=, conv = cpu::prepare_conv<T>(problem)](const T* input, const T* filter,
                                                     std::uint64_t /*version*/, T* output) {
      conv(images.in.read(input), filter, images.out.result(output));
      images.out.write(output);
    };
  }
}

template <class T>
Prepared2<T> prepare_conv_input_grad(const KernelContext& context, const ConvProblem& problem) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return cuda::prepare_conv_input_grad<T>(context.device(), problem, context.scratch());
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (cpu::interleaved_conv_pays(problem) && cpu::has_interleaved_input_grad(problem)) {
      return cpu::prepare_interleaved_input_grad(problem, context.scratch());
    }
    if (cpu::winograd_pays(problem))
      return cpu::prepare_winograd_input_grad(problem, context.scratch());
  }
  if constexpr (onednn::kEnabled && kHasOneDnnConv<T>) {
    if (Prepared2<T> prepared = onednn::prepare_conv_input_grad<T>(problem)) return prepared;
  }
  if constexpr (cpu::kIsHalf<T>) {
    return {};
  } else {
    const ConvImages<T> images(problem);
    return [=, grad = cpu::prepare_conv_input_grad<T>(problem)](const T* output_grad,
                                                                const T* filter, T* input_grad) {
      grad(images.out.read(output_grad), filter, images.in.result(input_grad));
      images.in.write(input_grad);
    };
  }
}

template <class T>
Prepared2<T> prepare_conv_filter_grad(const KernelContext& context, const ConvProblem& problem) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return cuda::prepare_conv_filter_grad<T>(context.device(), problem, context.scratch());
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (cpu::interleaved_conv_pays(problem) && cpu::has_interleaved_filter_grad(problem)) {
      return cpu::prepare_interleaved_filter_grad(problem, context.scratch());
    }
    if (cpu::winograd_pays(problem))
      return cpu::prepare_winograd_filter_grad(problem, context.scratch());
  }
  if constexpr (onednn::kEnabled && kHasOneDnnConv<T>) {
    if (Prepared2<T> prepared = onednn::prepare_conv_filter_grad<T>(problem)) return prepared;
  }
  if constexpr (cpu::kIsHalf<T>) {
    return {};
  } else {
    const ConvImages<T> images(problem);
    return [=, grad = cpu::prepare_conv_filter_grad<T>(problem)](
               const T* input, const T* output_grad, T* filter_grad) {
      grad(images.in.read(input), images.out.read(output_grad), filter_grad);
    };
  }
}

template PreparedWeights<float> prepare_conv<float>(const KernelContext&, const ConvProblem&);
template PreparedWeights<BFloat16> prepare_conv<BFloat16>(const KernelContext&, const ConvProblem&);
template PreparedWeights<Float16> prepare_conv<Float16>(const KernelContext&, const ConvProblem&);
template PreparedWeights<double> prepare_conv<double>(const KernelContext&, const ConvProblem&);
template Prepared2<float> prepare_conv_input_grad<float>(const KernelContext&, const ConvProblem&);
template Prepared2<BFloat16> prepare_conv_input_grad<BFloat16>(const KernelContext&,
                                                               const ConvProblem&);
template Prepared2<Float16> prepare_conv_input_grad<Float16>(const KernelContext&,
                                                             const ConvProblem&);
template Prepared2<double> prepare_conv_input_grad<double>(const KernelContext&,
                                                           const ConvProblem&);
template Prepared2<float> prepare_conv_filter_grad<float>(const KernelContext&, const ConvProblem&);
template Prepared2<BFloat16> prepare_conv_filter_grad<BFloat16>(const KernelContext&,
                                                                const ConvProblem&);
template Prepared2<Float16> prepare_conv_filter_grad<Float16>(const KernelContext&,
                                                              const ConvProblem&);
template Prepared2<double> prepare_conv_filter_grad<double>(const KernelContext&,
                                                            const ConvProblem&);

std::int64_t conv_pairs(const Shape& of_filters, const Shape& filter) {
  return of_filters.num_elements() * filter.product(1, filter.rank());
}

OpDef with_conv_attrs(OpDef def, std::size_t axes) {
  const std::string each = ": " + axes_doc(axes);
  return std::move(def)
      .attr("strides", std::vector<std::int64_t>(axes, 1), "steps of the filter" + each)
      .attr("paddings", std::vector<std::int64_t>(axes, 0), "zeros on both sides of Input" + each)
      .attr("dilations", std::vector<std::int64_t>(axes, 1),
            "distances of the filter's elements" + each + "; 1: they are neighbours")
      .attr("groups", std::int64_t{1},
            "Input's channels and the filters are cut into this many groups that do not see each "
            "other")
      .attr("use_cudnn", false, "accepted, without effect")
      .attr("data_format", std::string("AnyLayout"), data_format_doc(axes))
      .attr("workspace_size_MB", std::int64_t{4096}, "accepted, without effect");
}

void check_conv_inputs(const InferContext& context, std::size_t axes, std::string_view filter_doc) {
  const std::size_t rank = axes + 2;
  require_rank(context, "Input", rank, layout_doc(axes));
  const Shape& filter = context.input("Filter").shape;
  require_rank(context, "Filter", rank, filter_doc);
  check_extents(context, "Input", channels_first(context, context.input("Input").shape));
  check_extents(context, "Filter", filter);
  for (std::size_t i = 2; i < rank; ++i) {
    require(filter[i] != 0, context.type(), ": Filter must have ", axes_phrase(axes),
            " of at least 1, got ", filter);
  }
}

}  // namespace fluidcore
