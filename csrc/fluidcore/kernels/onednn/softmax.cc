#include <cstdint>
#include <memory>

#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/kernels/onednn/pipeline.h"

namespace fluidcore::onednn {

namespace {

constexpr auto kSoftmax = dnnl::algorithm::softmax_accurate;
constexpr int kAxis = 1;

double work(std::int64_t rows, std::int64_t columns) {
  constexpr double kCostOfElement = 100;  // in the floating-point operations of a product
  return kCostOfElement * static_cast<double>(rows) * static_cast<double>(columns);
}

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab};
}

dnnl::softmax_forward::primitive_desc forward(const Pipeline& pipeline,
                                              const dnnl::memory::desc& desc) {
  return {pipeline.engine(), dnnl::prop_kind::forward_training, kSoftmax, desc, desc, kAxis,
          with_scratchpad()};
}

}  // namespace

Prepared1<float> prepare_softmax(std::int64_t rows, std::int64_t columns) {
  if (rows == 0 || columns == 0) return {};
  return prepare("softmax", work(rows, columns), [&]() -> Prepared1<float> {
    auto pipeline = std::make_shared<Pipeline>();
    const auto desc = forward(*pipeline, matrix(rows, columns));
    const dnnl::memory x = pipeline->external(desc.src_desc());
    pipeline->add(dnnl::softmax_forward(desc), desc.scratchpad_desc(),
                  {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, pipeline->external(desc.dst_desc())}});
    return [pipeline](const float* in, float* out) { pipeline->run({in, out}); };
  });
}

}  // namespace fluidcore::onednn
