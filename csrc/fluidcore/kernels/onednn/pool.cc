#include <algorithm>
#include <cstddef>
#include <memory>

#include "fluidcore/kernels/onednn/layout.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/kernels/onednn/pipeline.h"

namespace fluidcore::onednn {

namespace {

using Desc = dnnl::memory::desc;

struct PoolDescs {
  PoolDescs(const PoolProblem& p, dnnl::memory::data_type type)
      : x(image(p, p.in, type)),
        out(image(p, p.out, type)),
        algorithm(p.pooling == Pooling::kMax ? dnnl::algorithm::pooling_max
                                             : dnnl::algorithm::pooling_avg_exclude_padding),
        strides(with_axes({}, p.stride, p.axes)),
        kernel(with_axes({}, p.kernel, p.axes)),
        before(with_axes({}, p.pad, p.axes)),
        after(with_axes({}, pad_after(p), p.axes)),
        dilations(p.axes, 0) {}

  static Desc image(const PoolProblem& p, const Spatial& extents, dnnl::memory::data_type type) {
    const dnnl::memory::dims dims = with_axes({p.batch, p.channels}, extents, p.axes);
    return p.channels_last ? channels_last(dims, type) : plain(dims, type);
  }

  // A last window may reach further than the padding.
  static Spatial pad_after(const PoolProblem& p) {
    Spatial pad = p.pad;
    for (std::size_t i = 0; i < pad.size(); ++i) {
      pad[i] = std::max(pad[i], (p.out[i] - 1) * p.stride[i] + p.kernel[i] - p.in[i] - p.pad[i]);
    }
    return pad;
  }

  Desc x;
  Desc out;
  dnnl::algorithm algorithm;
  dnnl::memory::dims strides;
  dnnl::memory::dims kernel;
  dnnl::memory::dims before;
  dnnl::memory::dims after;
  dnnl::memory::dims dilations;
};

double work(const PoolProblem& p) {
  constexpr double kCostOfElement = 16;  // in the floating-point operations of a product
  return kCostOfElement * static_cast<double>(p.planes() * p.in_plane());
}

dnnl::pooling_forward::primitive_desc forward(const Pipeline& pipeline,
                                              const PoolDescs& d,
                                              dnnl::prop_kind kind) {
  return {pipeline.engine(), kind,     d.algorithm, d.x,      d.out,
          d.strides,         d.kernel, d.dilations, d.before, d.after,
          with_scratchpad()};
}

}  // namespace

template <class T>
Prepared1<T> prepare_pool(const PoolProblem& p) {
  if (p.planes() == 0 || p.adaptive || !is_native<T>()) return {};
  return prepare("pooling", work(p), [&]() -> Prepared1<T> {
    auto pipeline = std::make_shared<Pipeline>();
    const PoolDescs d(p, kDataType<T>);
    const auto desc = forward(*pipeline, d, dnnl::prop_kind::forward_inference);
    const dnnl::memory x = pipeline->external(d.x);
    pipeline->add(dnnl::pooling_forward(desc), desc.scratchpad_desc(),
                  {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, pipeline->external(d.out)}});
    return [pipeline](const T* in, T* out) { pipeline->run({in, out}); };
  });
}

template Prepared1<float> prepare_pool(const PoolProblem&);
template Prepared1<BFloat16> prepare_pool(const PoolProblem&);

template <class T>
Prepared2<T> prepare_pool_grad(const PoolProblem& p) {
  if (p.planes() == 0 || p.adaptive || !is_native<T>()) return {};
  return prepare("pooling gradient", work(p), [&]() -> Prepared2<T> {
    auto pipeline = std::make_shared<Pipeline>();
    const PoolDescs d(p, kDataType<T>);
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
    return [pipeline](const T* in, const T* grad, T* out) { pipeline->run({in, grad, out}); };
  });
}

template Prepared2<float> prepare_pool_grad(const PoolProblem&);
template Prepared2<BFloat16> prepare_pool_grad(const PoolProblem&);

}  // namespace fluidcore::onednn
