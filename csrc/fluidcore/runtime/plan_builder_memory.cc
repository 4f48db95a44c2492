#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/runtime/plan_builder.h"
#include "fluidcore/tensor/tensor.h"

// The last stage of a PlanBuilder: memory, and what a run that fails gives back.

namespace fluidcore {

namespace {

// Runs `allocate`; where there is no memory, the operator that needs the most of it is named.
template <class F>
void allocate_for(const PreparedStep* most, const char* what, const F& allocate) {
  try {
    allocate();
  } catch (const NoMemory& none) {
    if (most == nullptr) throw;
    Error error(most->type, ": the ", what, " of the run must fit in memory, got no memory for ",
                none.bytes(), " bytes; this operator needs the most");
    error.set_note(most->note);
    throw error;
  }
}

}  // namespace

// A run that fails must leave the scope as it was: what is written before or by a step that may
// still throw, or be interrupted, is saved first.
void PlanBuilder::mark_backups() {
  // A device is soon asked for all of a run.
  const std::size_t tail = request_.device.is_cpu() ? start_of_tail() : 0;
  const std::size_t end = std::max(end_of_throwing_, tail);
  std::size_t& last_look = frames_.main().prepared.last_look;
  for (ScopeCell& cell : parts_.scope_cells) {
    if (!cell.is_written) continue;
    cell.needs_backup = cell.first_write < end;
    if (!cell.needs_backup) last_look = std::min(last_look, cell.first_write);
  }
}

// The last steps, which need not be interrupted because they are done soon, and the one in front of
// them: once a step is under way, nobody looks before it is done. In most programs these are the
// optimizer's, so that parameters are not saved.
std::size_t PlanBuilder::start_of_tail() const {
  constexpr std::int64_t kTailWork = std::int64_t{64} << 20;
  const std::vector<PreparedStep>& steps = parts_.main.steps;
  std::size_t start = steps.size();
  std::int64_t work = 0;
  while (start > 0 && !steps[start - 1].runs_block && work <= kTailWork) {
    work += steps[--start].work;
  }
  return start;
}

void PlanBuilder::place_temporaries() {
  for (Cell& cell : parts_.cells) {
    // Nobody writes an element.
    if (cell.array != nullptr && !cell.spec.shape.is_known()) cell.spec.shape = {0};
  }
  Frame& main = frames_.main();
  // On a device small ones are copied: they stay where they were in the last run; see DeviceGraph.
  constexpr std::size_t kSmall = std::size_t{1} << 20;
  for (FetchCell& fetch : parts_.fetches) {
    const bool is_copied = !request_.device.is_cpu() && byte_size(fetch.cell->spec) < kSmall;
    if (!is_copied) fetch.in_result = main.take_out(fetch.cell);
  }
  main.close();
  allocate_for(main.of_largest(), "temporaries",
               [&] { parts_.arena = device().allocate(main.bytes()); });
  parts_.arena_bytes = main.bytes();
  main.place(static_cast<std::byte*>(parts_.arena.get()));
  // Where there is no memory for it, the scope stays as it is.
  allocate_for(&most_scratch_, "working memory", [&] { parts_.scratch->data(); });
}

}  // namespace fluidcore
