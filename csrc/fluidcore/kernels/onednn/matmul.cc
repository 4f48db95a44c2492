#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/kernels/onednn/layout.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/kernels/onednn/pipeline.h"

namespace fluidcore::onednn {

namespace {

using Desc = dnnl::memory::desc;

// The operand as oneDNN describes it: batch dimensions, rows, columns.
Desc describe(const MatmulProblem& problem,
              const MatmulOperand& operand,
              std::int64_t rows,
              std::int64_t cols,
              dnnl::memory::data_type data_type) {
  dnnl::memory::dims dims;
  dnnl::memory::dims strides;
  std::int64_t span = rows * cols;
  for (std::size_t i = 0; i < problem.batch.size(); ++i) {
    const bool repeats = operand.batch[i] == 0;
    dims.push_back(repeats ? 1 : problem.batch[i]);
    strides.push_back(repeats ? span : operand.batch[i]);
  }
  dims.push_back(rows);
  dims.push_back(cols);
  // The stride of an extent of 1 says nothing, but oneDNN has fast paths only for sensible ones.
  const std::int64_t col = cols == 1 ? 1 : operand.col;
  strides.push_back(rows == 1 ? (col == 1 ? cols : 1) : operand.row);
  strides.push_back(col);
  return {dims, data_type, strides};
}

// The first operand, or a copy of a transposed one with long sums: oneDNN would cut these at places
// that depend on the number of threads, and so would the rounding of its results. Seen from 2,048
// products on.
dnnl::memory first_operand(Pipeline& pipeline, const MatmulProblem& problem, const Desc& desc) {
  constexpr std::int64_t kLongSum = 1024;
  dnnl::memory first = pipeline.external(desc);
  if (problem.a.col == 1 || problem.k <= kLongSum) return first;
  const dnnl::memory::dims dims = desc.get_dims();
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return pipeline.converted(first, {dims, desc.get_data_type(), strides});
}

bool fits(const MatmulProblem& problem) {
  constexpr std::size_t kMaxBatchDims = 4;
  return !problem.is_empty() && !problem.adds_products() && problem.batch.size() <= kMaxBatchDims;
}

using Arguments = std::vector<std::pair<int, dnnl::memory>>;

// The parts of an epilogue, and their operands in order as external memories of the pipeline,
// whether the part is there or not.
dnnl::primitive_attr with_epilogue(Pipeline& pipeline,
                                   const EpilogueParts& parts,
                                   const Desc& out,
                                   Arguments& arguments) {
  const std::int64_t columns = out.get_dims().back();
  const Desc of_columns = plain({1, columns});
  dnnl::post_ops operations;
  const auto add = [&](bool is_there, dnnl::algorithm algorithm, const Desc& desc) {
    const dnnl::memory operand = pipeline.external(desc);
    if (!is_there) return;
    arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(operations.len()) | DNNL_ARG_SRC_1,
                           operand);
    operations.append_binary(algorithm, desc);
  };
  add(parts.scale, dnnl::algorithm::binary_mul, of_columns);
  add(parts.bias, dnnl::algorithm::binary_add, of_columns);
  add(parts.residual, dnnl::algorithm::binary_add, out);
  dnnl::primitive_attr attr = with_scratchpad();
  attr.set_post_ops(operations);
  return attr;
}

// The product of the first two external memories into the third; `keeps` the second as weights.
// False for oneDNN's gemm, which processors without AVX-512 get: threads share its results out
// within its tiles, whose edges add in another order, so that their number is seen in the rounding.
template <class T>
bool add_product(Pipeline& pipeline,
                 const MatmulProblem& problem,
                 bool keeps,
                 const EpilogueParts& parts = {}) {
  const Desc a = describe(problem, problem.a, problem.m, problem.k, kDataType<T>);
  const Desc b = describe(problem, problem.b, problem.k, problem.n, kDataType<T>);
  const Desc c = describe(problem, problem.c, problem.m, problem.n, kDataType<T>);
  const Desc any(b.get_dims(), b.get_data_type(), dnnl::memory::format_tag::any);
  const dnnl::memory first = first_operand(pipeline, problem, a);
  const dnnl::memory weights = pipeline.external(b);
  const dnnl::memory out = pipeline.external(c);
  Arguments arguments;
  const dnnl::primitive_attr attr = with_epilogue(pipeline, parts, c, arguments);
  const dnnl::matmul::primitive_desc desc(pipeline.engine(), first.get_desc(), keeps ? any : b, c,
                                          attr);
  if (std::string_view(desc.impl_info_str()).starts_with("gemm")) return false;
  arguments.emplace_back(DNNL_ARG_SRC, first);
  arguments.emplace_back(DNNL_ARG_WEIGHTS, pipeline.kept(weights, desc.weights_desc()));
  arguments.emplace_back(DNNL_ARG_DST, out);
  pipeline.add(dnnl::matmul(desc), desc.scratchpad_desc(), arguments);
  return true;
}

}  // namespace

template <class T>
Prepared2<T> prepare_matmul(const MatmulProblem& original, const ScratchPtr& scratch) {
  MatmulProblem problem = simplified(original);
  const bool swapped = problem.c.col != 1 && problem.c.row == 1;
  if (swapped) problem = transposed(problem);
  if (!is_native<T>() || !fits(problem)) return {};
  return prepare("matmul", problem.flops(), [&]() -> Prepared2<T> {
    auto pipeline = std::make_shared<Pipeline>(scratch);
    if (!add_product<T>(*pipeline, problem, false)) return {};
    if (swapped) {
      return [pipeline](const T* x, const T* y, T* out) { pipeline->run({y, x, out}); };
    }
    return [pipeline](const T* x, const T* y, T* out) { pipeline->run({x, y, out}); };
  });
}

PreparedWeights<BFloat16> prepare_matmul_by_weights(const MatmulProblem& original,
                                                    const ScratchPtr& scratch) {
  const MatmulProblem problem = simplified(original);
  const bool has_rows = problem.batch.empty() && problem.c.col == 1;
  if (!is_native<BFloat16>() || !has_rows || !fits(problem)) return {};
  return prepare("matmul", problem.flops(), [&]() -> PreparedWeights<BFloat16> {
    auto pipeline = std::make_shared<Pipeline>(scratch);
    if (!add_product<BFloat16>(*pipeline, problem, true)) return {};
    return [pipeline](const BFloat16* x, const BFloat16* weights, std::uint64_t version,
                      BFloat16* out) { pipeline->run({x, weights, out}, version); };
  });
}

FusedKernel prepare_fused_matmul(const MatmulProblem& original,
                                 const EpilogueParts& parts,
                                 const ScratchPtr& scratch) {
  const MatmulProblem problem = simplified(original);
  const bool is_dense = problem.c.col == 1 && problem.c.row == problem.n;
  // The relu of oneDNN makes 0 of NaN.
  if (!problem.batch.empty() || !is_dense || !fits(problem) || parts.relu) return {};
  return prepare("matmul", problem.flops(), [&]() -> FusedKernel {
    auto pipeline = std::make_shared<Pipeline>(scratch);
    if (!add_product<float>(*pipeline, problem, false, parts)) return {};
    return [pipeline](const float* x, const float* y, std::uint64_t /*version*/, float* out,
                      const Epilogue& epilogue) {
      pipeline->run({x, y, out, epilogue.scale, epilogue.bias, epilogue.residual});
    };
  });
}

template Prepared2<float> prepare_matmul(const MatmulProblem&, const ScratchPtr&);
template Prepared2<BFloat16> prepare_matmul(const MatmulProblem&, const ScratchPtr&);

}  // namespace fluidcore::onednn
