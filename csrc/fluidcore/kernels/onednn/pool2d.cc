#include <algorithm>
#include <memory>

#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/kernels/onednn/pipeline.h"

namespace fluidcore::onednn {

namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

struct Descs {
  explicit Descs(const Pool2dProblem& p)
      : x({p.batch, p.channels, p.height, p.width}, dnnl::memory::data_type::f32, Tag::nchw),
        out({p.batch, p.channels, p.out_height, p.out_width},
            dnnl::memory::data_type::f32,
            Tag::nchw),
        algorithm(p.pooling == Pooling::kMax ? dnnl::algorithm::pooling_max
                                             : dnnl::algorithm::pooling_avg_exclude_padding),
        strides{p.stride_height, p.stride_width},
        kernel{p.kernel_height, p.kernel_width},
        before{p.pad_height, p.pad_width},
        // A last window may reach further than the padding.
        after{
            std::max(
                p.pad_height,
                (p.out_height - 1) * p.stride_height + p.kernel_height - p.height - p.pad_height),
            std::max(p.pad_width,
                     (p.out_width - 1) * p.stride_width + p.kernel_width - p.width - p.pad_width)} {
  }

  Desc x;
  Desc out;
  dnnl::algorithm algorithm;
  dnnl::memory::dims strides;
  dnnl::memory::dims kernel;
  dnnl::memory::dims before;
  dnnl::memory::dims after;
  dnnl::memory::dims dilations{0, 0};
};

double work(const Pool2dProblem& p) {
  constexpr double kCostOfElement = 16;  // in the floating-point operations of a product
  return kCostOfElement * static_cast<double>(p.planes() * p.height * p.width);
}

dnnl::pooling_forward::primitive_desc forward(const Pipeline& pipeline,
                                              const Descs& d,
                                              dnnl::prop_kind kind) {
  return {pipeline.engine(), kind,     d.algorithm, d.x,      d.out,
          d.strides,         d.kernel, d.dilations, d.before, d.after,
          with_scratchpad()};
}

}  // namespace

Prepared1<float> prepare_pool2d(const Pool2dProblem& p) {
  if (p.planes() == 0) return {};
  return prepare("pool2d", work(p), [&]() -> Prepared1<float> {
    auto pipeline = std::make_shared<Pipeline>();
    const Descs d(p);
    const auto desc = forward(*pipeline, d, dnnl::prop_kind::forward_inference);
    const dnnl::memory x = pipeline->external(d.x);
    pipeline->add(dnnl::pooling_forward(desc), desc.scratchpad_desc(),
                  {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, pipeline->external(d.out)}});
    return [pipeline](const float* in, float* out) { pipeline->run({in, out}); };
  });
}

Prepared2<float> prepare_pool2d_grad(const Pool2dProblem& p) {
  if (p.planes() == 0) return {};
  return prepare("pool2d_grad", work(p), [&]() -> Prepared2<float> {
    auto pipeline = std::make_shared<Pipeline>();
    const Descs d(p);
    const auto forward_desc = forward(*pipeline, d, dnnl::prop_kind::forward_training);
    const dnnl::pooling_backward::primitive_desc desc(pipeline->engine(), d.algorithm, d.x, d.out,
                                                      d.strides, d.kernel, d.dilations, d.before,
                                                      d.after, forward_desc, with_scratchpad());
    const dnnl::memory x = pipeline->external(d.x);
    const dnnl::memory out_grad = pipeline->external(d.out);
    const dnnl::memory x_grad = pipeline->external(d.x);
    if (p.pooling == Pooling::kMax) {
      const dnnl::memory workspace = pipeline->temporary(forward_desc.workspace_desc());
      pipeline->add(dnnl::pooling_forward(forward_desc), forward_desc.scratchpad_desc(),
                    {{DNNL_ARG_SRC, x},
                     {DNNL_ARG_DST, pipeline->temporary(d.out)},
                     {DNNL_ARG_WORKSPACE, workspace}});
      pipeline->add(dnnl::pooling_backward(desc), desc.scratchpad_desc(),
                    {{DNNL_ARG_DIFF_DST, out_grad},
                     {DNNL_ARG_DIFF_SRC, x_grad},
                     {DNNL_ARG_WORKSPACE, workspace}});
    } else {
      pipeline->add(dnnl::pooling_backward(desc), desc.scratchpad_desc(),
                    {{DNNL_ARG_DIFF_DST, out_grad}, {DNNL_ARG_DIFF_SRC, x_grad}});
    }
    return [pipeline](const float* in, const float* grad, float* out) {
      pipeline->run({in, grad, out});
    };
  });
}

}  // namespace fluidcore::onednn
