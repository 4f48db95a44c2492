#include "fluidcore/runtime/passes/transposes.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace fluidcore {

namespace {

// What is known of the steps before the one that is looked at.
class Before {
 public:
  explicit Before(const std::vector<PreparedStep>& steps) : steps_(steps) {}

  void add(std::size_t step) {
    for (const PreparedStep::Output& output : steps_[step].outputs) {
      written_[owner_of(output.cell)] = step;
    }
    if (steps_[step].runs_block) last_block_ = step;
  }

  // The step that permutes to `cell` what has not changed since, for step `reader` alone.
  std::optional<std::size_t> permutes(const Cell* cell,
                                      std::size_t reader,
                                      const LivesWithin& lives_within) const {
    const std::optional<std::size_t> step = last_write(cell);
    if (!step || (last_block_ && *last_block_ > *step)) return std::nullopt;
    const Permutation* permutation = steps_[*step].kernel.permutation();
    if (permutation == nullptr || !lives_within(cell, *step, reader)) return std::nullopt;
    return last_write(permutation->from) > step ? std::nullopt : step;
  }

 private:
  std::optional<std::size_t> last_write(const Cell* cell) const {
    const auto found = written_.find(owner_of(cell));
    return found == written_.end() ? std::nullopt : std::optional(found->second);
  }

  const std::vector<PreparedStep>& steps_;
  std::unordered_map<const Cell*, std::size_t> written_;  // by which step, last
  std::optional<std::size_t> last_block_;                 // the last step that runs one
};

// The step after `reader`, if it permutes the result, which nobody else reads, to where `reader`
// with all it does then reads nothing.
bool permutes_result(const std::vector<PreparedStep>& steps,
                     std::size_t reader,
                     const std::vector<std::size_t>& before,
                     const LivesWithin& lives_within) {
  if (reader + 1 == steps.size()) return false;
  const Kernel::Strided& strided = *steps[reader].kernel.strided();
  const Permutation* after = steps[reader + 1].kernel.permutation();
  if (after == nullptr || whole_of(after->from) != strided.result) return false;
  const auto is_there = [&](const Cell* cell) { return owner_of(cell) == owner_of(after->to); };
  return lives_within(strided.result, reader, reader + 1) &&
         std::ranges::none_of(strided.reads, is_there) &&
         std::ranges::none_of(before, [&](std::size_t step) {
           return is_there(steps[step].kernel.permutation()->from);
         });
}

// The steps that can become one with step `reader`, without itself, in order.
std::vector<std::size_t> steps_around(const std::vector<PreparedStep>& steps,
                                      std::size_t reader,
                                      const Before& before,
                                      const LivesWithin& lives_within) {
  std::set<std::size_t> permuting;
  for (const Cell* cell : steps[reader].kernel.strided()->reads) {
    if (const auto step = before.permutes(cell, reader, lives_within)) permuting.insert(*step);
  }
  std::vector<std::size_t> around(permuting.begin(), permuting.end());
  if (permutes_result(steps, reader, around, lives_within)) around.push_back(reader + 1);
  return around;
}

// Leaves in `around` what the kernel of step `reader` can do, and returns the kernel that does it.
Kernel take(const std::vector<PreparedStep>& steps,
            std::size_t reader,
            std::vector<std::size_t>& around) {
  Kernel kernel;
  std::vector<Permutation> permutations;
  std::erase_if(around, [&](std::size_t step) {
    permutations.push_back(*steps[step].kernel.permutation());
    Kernel with = steps[reader].kernel.strided()->with(permutations);
    const bool cannot = with.is_empty();
    if (cannot)
      permutations.pop_back();
    else
      kernel = std::move(with);
    return cannot;
  });
  return kernel;
}

// One step of `reader`, which messages name, and those around it.
PreparedStep joined_with(const std::vector<PreparedStep>& steps,
                         std::size_t reader,
                         const std::vector<std::size_t>& around,
                         Kernel kernel) {
  const Cell* const result = steps[reader].kernel.strided()->result;
  std::vector<PreparedStep> together = {steps[reader]};
  std::vector<PreparedStep::Output> outputs = steps[reader].outputs;
  for (const std::size_t step : around) {
    together.push_back(steps[step]);
    if (step < reader) continue;
    std::erase_if(outputs, [&](const auto& output) { return output.cell == result; });
    outputs.push_back(steps[step].outputs[0]);
  }
  return joined(together, std::move(kernel), std::move(outputs));
}

// Leaves out the steps that are done by another one.
Fused leave_out(std::vector<PreparedStep>& steps, const std::vector<std::size_t>& done_by) {
  Fused result;
  std::vector<std::size_t> position(steps.size());
  std::vector<PreparedStep> kept;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    position[i] = kept.size();
    // A lifetime begins no later than those of the steps that follow.
    result.begins.push_back(done_by[i] < i ? position[done_by[i]] : kept.size());
    if (done_by[i] == i) kept.push_back(std::move(steps[i]));
  }
  for (const std::size_t step : done_by) result.position.push_back(position[step]);
  steps = std::move(kept);
  return result;
}

}  // namespace

Fused transposes(std::vector<PreparedStep>& steps, const LivesWithin& lives_within) {
  Before before(steps);
  std::set<const Cell*> inner;
  std::vector<std::pair<const Cell*, std::size_t>> uses;
  std::vector<std::size_t> done_by(steps.size());
  std::iota(done_by.begin(), done_by.end(), std::size_t{0});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (done_by[i] != i) continue;
    if (const Kernel::Strided* strided = steps[i].kernel.strided()) {
      std::vector<std::size_t> around = steps_around(steps, i, before, lives_within);
      Kernel kernel = take(steps, i, around);
      for (const std::size_t other : around) {
        const Permutation& permutation = *steps[other].kernel.permutation();
        inner.insert(other < i ? permutation.to : strided->result);
        uses.emplace_back(permutation.from, i);
        done_by[other] = i;
      }
      if (!around.empty()) steps[i] = joined_with(steps, i, around, std::move(kernel));
    }
    before.add(i);
  }
  Fused fused = leave_out(steps, done_by);
  fused.inner = std::move(inner);
  for (auto& [cell, step] : uses) step = fused.position[step];
  fused.uses = std::move(uses);
  return fused;
}

}  // namespace fluidcore
