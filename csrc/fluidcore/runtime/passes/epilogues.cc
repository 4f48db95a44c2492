#include "fluidcore/runtime/passes/epilogues.h"

#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

namespace fluidcore {

namespace {

// What a step does, if that is one part and needs nothing before it.
const RowPart* only_part(const PreparedStep& step) {
  const RowKernel* rows = step.kernel.rows();
  if (rows == nullptr || rows->parts().size() != 1) return nullptr;
  const RowPart& part = rows->parts()[0];
  return step.kernel.first() == nullptr || part.form == RowForm::kAffine ? &part : nullptr;
}

// Whether the part changes the elements of `result`, in place of those of another operand.
bool works_on(const RowPart& part, const Cell* result) {
  if (part.form == RowForm::kSum && part.in[1].cell == result) return true;
  return !part.in.empty() && part.in[0].cell == result;
}

// The parts of the steps after `first` that each work on what the one before made, if nobody else
// does.
std::vector<const RowPart*> parts_after(const std::vector<PreparedStep>& steps,
                                        std::size_t first,
                                        const LivesWithin& lives_within) {
  std::vector<const RowPart*> parts;
  const Cell* result = whole_of(steps[first].outputs[0].cell);
  for (std::size_t next = first + 1; next < steps.size(); ++next) {
    const RowPart* part = only_part(steps[next]);
    if (part == nullptr) break;
    const bool stays_inside = part->out.cell == result || lives_within(result, first, next);
    if (!works_on(*part, result) || !stays_inside) break;
    parts.push_back(part);
    result = part->out.cell;
  }
  return parts;
}

}  // namespace

Fused epilogues(std::vector<PreparedStep>& steps, const LivesWithin& lives_within) {
  Fused result;
  std::vector<PreparedStep> kept;
  for (std::size_t first = 0; first < steps.size();) {
    Kernel kernel;
    std::size_t count = 0;
    const Cell* made = nullptr;  // in the end
    if (steps[first].kernel.epilogue() != nullptr && steps[first].outputs.size() == 1) {
      const std::vector<const RowPart*> parts = parts_after(steps, first, lives_within);
      std::tie(kernel, count) = (*steps[first].kernel.epilogue())(parts);
      if (count > 0) made = parts[count - 1]->out.cell;
      const Cell* between = whole_of(steps[first].outputs[0].cell);
      for (std::size_t i = 0; i < count; between = parts[i++]->out.cell) {
        if (between != made) result.inner.insert(between);
      }
    }
    result.begins.insert(result.begins.end(), count + 1, kept.size());
    result.position.insert(result.position.end(), count + 1, kept.size());
    if (count == 0) {
      kept.push_back(std::move(steps[first]));
    } else {
      std::vector<PreparedStep::Output> outputs = steps[first + count].outputs;
      std::erase_if(outputs, [&](const auto& output) { return whole_of(output.cell) != made; });
      kept.push_back(joined(std::span(steps).subspan(first, count + 1), std::move(kernel),
                            std::move(outputs)));
    }
    first += count + 1;
  }
  steps = std::move(kept);
  return result;
}

}  // namespace fluidcore
