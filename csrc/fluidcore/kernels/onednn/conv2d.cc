#include <cstdint>
#include <memory>
#include <utility>

#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/kernels/onednn/pipeline.h"

namespace fluidcore::onednn {

namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

// The three tensors in plain layout, and in the layout that oneDNN likes best.
struct Descs {
  explicit Descs(const Conv2dProblem& p)
      : input(describe({p.batch, p.channels, p.height, p.width}, Tag::nchw)),
        filter(p.groups == 1
                   ? describe({p.filters, p.channels, p.kernel_height, p.kernel_width}, Tag::oihw)
                   : describe({p.groups, p.filters / p.groups, p.channels / p.groups,
                               p.kernel_height, p.kernel_width},
                              Tag::goihw)),
        output(describe({p.batch, p.filters, p.out_height, p.out_width}, Tag::nchw)),
        strides{p.stride_height, p.stride_width},
        dilations{p.dilation_height - 1, p.dilation_width - 1},
        padding{p.pad_height, p.pad_width} {}

  static Desc describe(const dnnl::memory::dims& dims, Tag tag) {
    return {dims, dnnl::memory::data_type::f32, tag};
  }
  static Desc any(const Desc& desc) { return describe(desc.get_dims(), Tag::any); }

  Desc input;
  Desc filter;
  Desc output;
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;
  dnnl::memory::dims padding;
};

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc forward(const Pipeline& pipeline, const Descs& d) {
  return {pipeline.engine(),
          dnnl::prop_kind::forward_training,
          kDirect,
          Descs::any(d.input),
          Descs::any(d.filter),
          Descs::any(d.output),
          d.strides,
          d.dilations,
          d.padding,
          d.padding,
          with_scratchpad()};
}

// Adds `primitive` with its result in the layout `desc`, and the copy into the plain `result`.
template <class PrimitiveDesc>
void add_with_result(Pipeline& pipeline,
                     const dnnl::primitive& primitive,
                     const PrimitiveDesc& primitive_desc,
                     std::pair<int, dnnl::memory> first,
                     std::pair<int, dnnl::memory> second,
                     int result_index,
                     const Desc& result_desc,
                     const dnnl::memory& result) {
  const bool plain = result_desc == result.get_desc();
  const dnnl::memory out = plain ? result : pipeline.temporary(result_desc);
  pipeline.add(primitive, primitive_desc.scratchpad_desc(),
               {std::move(first), std::move(second), {result_index, out}});
  if (!plain) pipeline.copy(out, result);
}

// make(pipeline, descs) adds the steps.
template <class Make>
Prepared2<float> prepare_steps(const char* what, const Conv2dProblem& p, const Make& make) {
  if (p.is_empty()) return {};
  return prepare(what, p.flops(), [&]() -> Prepared2<float> {
    auto pipeline = std::make_shared<Pipeline>();
    make(*pipeline, Descs(p));
    return [pipeline](const float* first, const float* second, float* out) {
      pipeline->run({first, second, out});
    };
  });
}

}  // namespace

Prepared2<float> prepare_conv2d(const Conv2dProblem& problem) {
  return prepare_steps("conv2d", problem, [](Pipeline& pipeline, const Descs& d) {
    const auto desc = forward(pipeline, d);
    const dnnl::memory input = pipeline.converted(pipeline.external(d.input), desc.src_desc());
    const dnnl::memory filter =
        pipeline.converted(pipeline.external(d.filter), desc.weights_desc());
    add_with_result(pipeline, dnnl::convolution_forward(desc), desc, {DNNL_ARG_SRC, input},
                    {DNNL_ARG_WEIGHTS, filter}, DNNL_ARG_DST, desc.dst_desc(),
                    pipeline.external(d.output));
  });
}

Prepared2<float> prepare_conv2d_input_grad(const Conv2dProblem& problem) {
  // oneDNN works on blocks of channels: for an image of 1 or 3 the product of matrices is faster.
  constexpr std::int64_t kFewChannels = 3;
  if (problem.channels / problem.groups <= kFewChannels) return {};
  return prepare_steps("conv2d_grad", problem, [](Pipeline& pipeline, const Descs& d) {
    const dnnl::convolution_backward_data::primitive_desc desc(
        pipeline.engine(), kDirect, Descs::any(d.input), Descs::any(d.filter), Descs::any(d.output),
        d.strides, d.dilations, d.padding, d.padding, forward(pipeline, d), with_scratchpad());
    const dnnl::memory output_grad =
        pipeline.converted(pipeline.external(d.output), desc.diff_dst_desc());
    const dnnl::memory filter =
        pipeline.converted(pipeline.external(d.filter), desc.weights_desc());
    add_with_result(pipeline, dnnl::convolution_backward_data(desc), desc,
                    {DNNL_ARG_DIFF_DST, output_grad}, {DNNL_ARG_WEIGHTS, filter}, DNNL_ARG_DIFF_SRC,
                    desc.diff_src_desc(), pipeline.external(d.input));
  });
}

Prepared2<float> prepare_conv2d_filter_grad(const Conv2dProblem& problem) {
  return prepare_steps("conv2d_grad", problem, [](Pipeline& pipeline, const Descs& d) {
    const dnnl::convolution_backward_weights::primitive_desc desc(
        pipeline.engine(), kDirect, Descs::any(d.input), Descs::any(d.filter), Descs::any(d.output),
        d.strides, d.dilations, d.padding, d.padding, forward(pipeline, d), with_scratchpad());
    const dnnl::memory input = pipeline.converted(pipeline.external(d.input), desc.src_desc());
    const dnnl::memory output_grad =
        pipeline.converted(pipeline.external(d.output), desc.diff_dst_desc());
    add_with_result(pipeline, dnnl::convolution_backward_weights(desc), desc, {DNNL_ARG_SRC, input},
                    {DNNL_ARG_DIFF_DST, output_grad}, DNNL_ARG_DIFF_WEIGHTS,
                    desc.diff_weights_desc(), pipeline.external(d.filter));
  });
}

}  // namespace fluidcore::onednn
