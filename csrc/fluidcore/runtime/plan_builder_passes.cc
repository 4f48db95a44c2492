#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/runtime/passes/epilogues.h"
#include "fluidcore/runtime/passes/transposes.h"
#include "fluidcore/runtime/plan_builder.h"

// The stage of a PlanBuilder in which steps become fewer.

namespace fluidcore {

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> kNames = {PlanBuilder::kChannelsLast,
                                                  PlanBuilder::kEpilogues, PlanBuilder::kFuseRows,
                                                  PlanBuilder::kTransposes, PlanBuilder::kViews};
  return kNames;
}

bool PlanBuilder::skips(std::string_view pass) const {
  return std::ranges::find(request_.skipped_passes, pass) != request_.skipped_passes.end();
}

// Called when all steps of a frame are prepared.
void PlanBuilder::run_passes(Frame& frame) {
  std::vector<PreparedStep>& steps = frame.prepared.steps;
  apply(frame, drop_empty(steps));
  // The others are about the caches of a CPU.
  if (!request_.device.is_cpu()) return;
  // A search for NaN names the operator, so it must see each by itself.
  if (request_.check_nan) return;
  const LivesWithin lives_within = [&](const Cell* cell, std::size_t first, std::size_t last) {
    return frame.lives_within(cell, first, last);
  };
  if (!skips(kTransposes)) apply(frame, transposes(steps, lives_within));
  if (!skips(kEpilogues)) apply(frame, epilogues(steps, lives_within));
  if (!skips(kFuseRows)) apply(frame, fuse_rows(steps, lives_within));
}

// What is known by positions of steps moves with them.
void PlanBuilder::apply(Frame& frame, const Fused& fused) {
  frame.move(fused);
  if (frame.around != nullptr) return;
  for (ScopeCell& cell : parts_.scope_cells) {
    if (cell.is_written) cell.first_write = fused.begins[cell.first_write];
  }
  if (end_of_throwing_ > 0) {
    const std::size_t last = end_of_throwing_ - 1;
    end_of_throwing_ =
        last < fused.position.size() ? fused.position[last] + 1 : frame.prepared.steps.size();
  }
}

}  // namespace fluidcore
