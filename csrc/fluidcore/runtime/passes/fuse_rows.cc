#include "fluidcore/runtime/passes/fuse_rows.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

constexpr std::size_t kMostParts = 256;  // so that what a pass takes stays linear

// A run of steps that may be one.
class Group {
 public:
  // Takes the step, if it can.
  bool add(const PreparedStep& step) {
    const RowKernel* kernel = step.kernel.rows();
    if (kernel == nullptr || (steps_ > 0 && step.kernel.first() != nullptr)) return false;
    if (parts_.size() + kernel->parts().size() > kMostParts) return false;
    if (!rows_.add(kernel->parts())) return false;
    parts_.insert(parts_.end(), kernel->parts().begin(), kernel->parts().end());
    ++steps_;
    return true;
  }

  std::size_t steps() const { return steps_; }
  std::int64_t rows() const { return rows_.count(); }
  const std::vector<RowPart>& parts() const { return parts_; }

 private:
  CommonRows rows_;
  std::size_t steps_ = 0;
  std::vector<RowPart> parts_;
};

std::string joined_types(std::span<const PreparedStep> steps) {
  constexpr std::size_t kMost = 4;
  const auto name_of = [](const PreparedStep& step) {
    return step.name.empty() ? step.type : step.name;
  };
  std::string types = name_of(steps[0]);
  for (const PreparedStep& step : steps.subspan(1, std::min(steps.size(), kMost) - 1)) {
    types += " + " + name_of(step);
  }
  return steps.size() <= kMost ? types : str_cat(types, " + ", steps.size() - kMost, " more");
}

// The bytes in memory that the parts read and write.
std::int64_t work_of(const RowKernel& kernel) {
  std::int64_t work = 0;
  std::unordered_set<const Cell*> made;  // by an earlier part: in the cache
  const auto add = [&](const Cell* cell, bool is_read) {
    if (kernel.inner().contains(cell) || (is_read && made.contains(cell))) return;
    work += static_cast<std::int64_t>(byte_size(cell->spec));
  };
  for (const RowPart& part : kernel.parts()) {
    for (const RowOperand& operand : part.in) add(operand.cell, true);
    add(part.out.cell, false);
    made.insert(part.out.cell);
  }
  return work;
}

bool is_by_rows(const PreparedStep& step, const Cell* cell) {
  return std::ranges::any_of(step.kernel.rows()->parts(),
                             [&](const RowPart& part) { return part.out.cell == cell; });
}

// Of all steps, what is in memory when their rows are done.
std::vector<PreparedStep::Output> outputs_of(std::span<const PreparedStep> steps,
                                             const RowKernel& kernel) {
  std::vector<PreparedStep::Output> outputs;
  for (const PreparedStep& part : steps) {
    std::ranges::copy_if(part.outputs, std::back_inserter(outputs), [&](const auto& output) {
      return is_by_rows(part, output.cell) && !kernel.inner().contains(output.cell);
    });
  }
  return outputs;
}

// What is done before the rows.
PreparedStep beginning_of(const PreparedStep& step) {
  PreparedStep beginning = step;
  std::erase_if(beginning.outputs,
                [&](const auto& output) { return is_by_rows(step, output.cell); });
  beginning.kernel = Kernel(*step.kernel.first());
  return beginning;
}

}  // namespace

PreparedStep joined(std::span<const PreparedStep> steps,
                    Kernel kernel,
                    std::vector<PreparedStep::Output> outputs) {
  const PreparedStep& first = steps.front();
  PreparedStep step;
  step.type = first.type;
  step.note = first.note;
  step.name = joined_types(steps);
  step.count = 0;
  step.block = first.block;
  step.index = first.index;
  step.work = kernel.rows() ? work_of(*kernel.rows()) : first.work;
  for (const PreparedStep& part : steps) {
    step.count += part.count;
    if (part.kernel.first() == nullptr) step.flops += part.flops;  // else it is done before
  }
  step.kernel = std::move(kernel);
  step.outputs = std::move(outputs);
  return step;
}

Fused drop_empty(std::vector<PreparedStep>& steps) {
  Fused result;
  std::size_t kept = 0;
  for (const PreparedStep& step : steps) {
    result.begins.push_back(kept);
    result.position.push_back(kept);
    if (!step.kernel.is_empty()) ++kept;
  }
  std::erase_if(steps, [](const PreparedStep& step) { return step.kernel.is_empty(); });
  return result;
}

Fused fuse_rows(std::vector<PreparedStep>& steps, const LivesWithin& lives_within) {
  Fused result;
  std::vector<PreparedStep> kept;
  for (std::size_t first = 0; first < steps.size();) {
    Group group;
    while (first + group.steps() < steps.size() && group.add(steps[first + group.steps()])) {
    }
    const std::size_t count = std::max<std::size_t>(group.steps(), 1);
    result.begins.insert(result.begins.end(), count, kept.size());
    if (count == 1) {
      kept.push_back(std::move(steps[first]));
    } else {
      if (steps[first].kernel.first() != nullptr) kept.push_back(beginning_of(steps[first]));
      std::set<const Cell*> inner;
      for (const RowPart& part : group.parts()) {
        const Cell* out = part.out.cell;
        if (lives_within(out, first, first + count - 1)) inner.insert(out);
      }
      RowKernel kernel(group.parts(), group.rows(), inner);
      result.inner.insert(kernel.inner().begin(), kernel.inner().end());
      const auto together = std::span(steps).subspan(first, count);
      std::vector<PreparedStep::Output> outputs = outputs_of(together, kernel);
      kept.push_back(joined(together, std::move(kernel), std::move(outputs)));
    }
    result.position.insert(result.position.end(), count, kept.size() - 1);
    first += count;
  }
  steps = std::move(kept);
  return result;
}

}  // namespace fluidcore
