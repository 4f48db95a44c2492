#include <algorithm>

#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

namespace {

FC_HOST_DEVICE float part_of(std::int32_t hits, std::int64_t samples) {
  return samples == 0 ? 0.0F : static_cast<float>(hits) / static_cast<float>(samples);
}

// On a device, by one group.
struct CountHits {
  std::int64_t samples;
  std::int64_t k;
  cpu::RowIndex right;

  FC_HOST_DEVICE void operator()(const cuda::Group& group,
                                 std::int64_t /*i*/,
                                 const std::int64_t* indices,
                                 float* accuracy,
                                 std::int32_t* correct,
                                 std::int32_t* total) const {
    std::int32_t hits = 0;
    for (std::int64_t i = group.rank(); i < samples; i += group.size()) {
      bool is_hit = false;
      for (std::int64_t j = 0; j < k; ++j) is_hit = is_hit || indices[i * k + j] == right[i];
      hits += is_hit ? 1 : 0;
    }
    hits = group.sum(hits);
    if (group.rank() != 0) return;
    if (accuracy != nullptr) *accuracy = part_of(hits, samples);
    if (correct != nullptr) *correct = hits;
    if (total != nullptr) *total = static_cast<std::int32_t>(samples);
  }
};

Kernel accuracy(const KernelContext& context) {
  const auto indices = context.input<std::int64_t>("Indices");
  const auto label = context.raw_input("Label");
  const bool is_wide = label.spec().dtype == DType::kInt64;
  const auto accuracy = context.optional_output<float>("Accuracy");
  const auto correct = context.optional_output<std::int32_t>("Correct");
  const auto total = context.optional_output<std::int32_t>("Total");
  const std::int64_t samples = indices.shape()[0];
  const std::int64_t k = indices.shape()[1];
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each_group(device, 1, samples * k, CountHits{samples, k, {label.data(), is_wide}},
                             indices.data(), data_or_null(accuracy), data_or_null(correct),
                             data_or_null(total));
      });
    }
  }
  return [=] {
    std::int32_t hits = 0;
    const cpu::RowIndex right{label.data(), is_wide};
    for (std::int64_t i = 0; i < samples; ++i) {
      const std::int64_t* row = indices.data() + i * k;
      hits += std::find(row, row + k, right[i]) != row + k ? 1 : 0;
    }
    if (accuracy) *accuracy.data() = part_of(hits, samples);
    if (correct) *correct.data() = hits;
    if (total) *total.data() = static_cast<std::int32_t>(samples);
  };
}

void infer_accuracy(InferContext& context) {
  const TensorSpec& out = context.input("Out");
  const TensorSpec& indices = context.input("Indices");
  const TensorSpec& label = context.input("Label");
  require_dtype(context, "Indices", DType::kInt64);
  require_row_numbers(context, "Label");
  require(indices.shape.rank() == 2 && compatible(out.shape, indices.shape),
          "accuracy: Out and Indices must have one shape [samples, k], got Out ", out.shape,
          ", Indices ", indices.shape);
  const std::int64_t samples = indices.shape[0];
  require(compatible(label.shape, Shape{samples, 1}) || compatible(label.shape, Shape{samples}),
          "accuracy: Label must be [samples, 1] or [samples], got Indices ", indices.shape,
          ", Label ", label.shape);
  context.set_output("Accuracy", {Shape{1}, DType::kFloat32});
  context.set_output("Correct", {Shape{1}, DType::kInt32});
  context.set_output("Total", {Shape{1}, DType::kInt32});
}

}  // namespace

void register_metrics_ops(OpRegistry& registry) {
  registry.add(
      OpDef("accuracy")
          .doc(
              "Accuracy = the part of the samples whose Label is among their k Indices; 0 of none.")
          .input("Out", "[samples, k]: output Out of top_k", {.shape_only = true})
          .input("Indices", "int64 [samples, k]: output Indices of top_k")
          .input("Label", "int32 or int64 [samples, 1] or [samples]")
          .output("Accuracy", "float32 [1]")
          .output("Correct", "int32 [1]: how many samples are right", {.intermediate = true})
          .output("Total", "int32 [1]: how many samples there are", {.intermediate = true})
          .infer(infer_accuracy)
          .kernels(
              floating_kernels_everywhere([](auto /*tag*/) -> KernelFactory { return accuracy; }))
          .not_differentiable());
}

}  // namespace fluidcore
