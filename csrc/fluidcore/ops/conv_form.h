#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/op/op_def.h"
#include "fluidcore/ops/window_attrs.h"

namespace fluidcore {

// What convolutions and transposed convolutions have in common.

struct ConvAttrs {
  Spatial stride;
  Spatial pad;
  Spatial dilation;
  std::int64_t groups;
};

// Throws InvalidArgument for attributes out of range.
template <class Context>
ConvAttrs conv_attrs(const Context& context, std::size_t axes) {
  const auto groups = context.template attr<std::int64_t>("groups");
  require(groups >= 1, context.type(), ": groups must be at least 1, got ", groups);
  return {window_attr(context, "strides", axes, 1), window_attr(context, "paddings", axes, 0),
          window_attr(context, "dilations", axes, 1), groups};
}

// The extents of the output of a convolution, each 0 where the filter does not fit and -1 where it
// is unknown.
Spatial conv_extents(const Spatial& in, const Spatial& kernel, const ConvAttrs& attrs);

// Of the convolution of `image`, whose channels are where data_format says, with `filter`.
ConvProblem conv_problem(const KernelContext& context, const Shape& image, const Shape& filter);

// The kernels of kernels/cpu/conv.h, for float32 Winograd's where they pay, else oneDNN's where it
// has one, and for problems with channels last. Of bfloat16 each is empty where the processor has
// no products of it, or oneDNN no kernel, and of float16. They use the scratch of `context` while
// they run. On a CUDA device those of kernels/cuda/conv.h.
template <class T>
PreparedWeights<T> prepare_conv(const KernelContext& context, const ConvProblem& problem);
template <class T>
Prepared2<T> prepare_conv_input_grad(const KernelContext& context, const ConvProblem& problem);
template <class T>
Prepared2<T> prepare_conv_filter_grad(const KernelContext& context, const ConvProblem& problem);

// Declares the attributes.
OpDef with_conv_attrs(OpDef def, std::size_t axes);

// Products of pairs in a convolution: every element of `of_filters`, whose channels are those that
// dimension 0 of the filter numbers, meets one filter.
std::int64_t conv_pairs(const Shape& of_filters, const Shape& filter);

// Checks the ranks and extents of Input and Filter, and data_format. `filter_doc` are the first two
// dimensions of the filter.
void check_conv_inputs(const InferContext& context, std::size_t axes, std::string_view filter_doc);

}  // namespace fluidcore
