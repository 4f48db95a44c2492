#include "fluidcore/runtime/passes/rows_after.h"

#include <cstddef>
#include <span>
#include <utility>

namespace fluidcore {

namespace {

// Empty where the second step cannot be done block by block.
Kernel together(const PreparedStep& first, const PreparedStep& second) {
  const Kernel::RowsAfter* take = first.kernel.rows_after();
  const RowKernel* rows = second.kernel.rows();
  if (take == nullptr || rows == nullptr || second.kernel.first() != nullptr) return {};
  return (*take)(*rows);
}

}  // namespace

Fused rows_after(std::vector<PreparedStep>& steps) {
  Fused result;
  std::vector<PreparedStep> kept;
  for (std::size_t first = 0; first < steps.size();) {
    Kernel kernel;
    if (first + 1 < steps.size()) kernel = together(steps[first], steps[first + 1]);
    const std::size_t count = kernel.is_empty() ? 1 : 2;
    result.begins.insert(result.begins.end(), count, kept.size());
    result.position.insert(result.position.end(), count, kept.size());
    if (count == 1) {
      kept.push_back(std::move(steps[first]));
    } else {
      std::vector<PreparedStep::Output> outputs = steps[first].outputs;
      const auto& more = steps[first + 1].outputs;
      outputs.insert(outputs.end(), more.begin(), more.end());
      kept.push_back(
          joined(std::span(steps).subspan(first, count), std::move(kernel), std::move(outputs)));
    }
    first += count;
  }
  steps = std::move(kept);
  return result;
}

}  // namespace fluidcore
