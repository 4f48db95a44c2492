#include "fluidcore/runtime/passes/prune.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fluidcore/program/block_desc.h"
#include "fluidcore/runtime/passes/steps_of_program.h"

namespace fluidcore {

namespace {

using Names = std::unordered_set<std::string>;

constexpr int kMaxRounds = 64;

// Marks what is needed, from the last step to the first. What is known of a block only grows from
// one round to the next, so the rounds come to an end.
class Marker {
 public:
  // `given`: variables of block 0 that need not be calculated. `keeps_scope`: whether to keep what
  // writes variables that outlive the run.
  Marker(Names given, bool keeps_scope) : given_(std::move(given)), keeps_scope_(keeps_scope) {}

  // Marks the steps of block 0, of which `needed` is wanted.
  void mark_all(const Steps& steps, Names needed) {
    for (const std::string& name : given_) needed.erase(name);
    mark(steps, needed);
  }

  bool is_kept(const Step& step) const { return kept_.contains(&step); }

  Steps take_kept(Steps& steps) const {
    Steps kept;
    for (Step& step : steps) {
      const auto found = kept_.find(&step);
      if (found == kept_.end()) continue;
      if (step.body) {
        take_kept(*step.body);
      } else {
        drop_outputs(step, found->second);
      }
      kept.push_back(std::move(step));
    }
    return kept;
  }

 private:
  // `needed`: after the steps; on return: before them. True if any of the steps is needed.
  bool mark(const Steps& steps, Names& needed) {
    bool any = false;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      const bool wanted = step->body ? mark_body(*step, needed) : writes_needed(*step, needed);
      if (!wanted) continue;
      any = true;
      want_outputs(kept_[&*step], *step, needed);
      // What is written here and not read here need not be calculated before.
      for (const std::string& name : kills(*step)) needed.erase(name);
      for (const std::string& name : reads(*step)) need(*step, name, needed);
      for (const ForwardShape& shape : step->shapes) need_shape(shape);
    }
    return any;
  }

  static void want_outputs(Names& wanted, const Step& step, const Names& needed) {
    wanted.insert(step.lasting.begin(), step.lasting.end());
    std::ranges::copy_if(step.op.output_arg_names(), std::inserter(wanted, wanted.end()),
                         [&](const std::string& name) { return needed.contains(name); });
  }

  void need(const Step& step, const std::string& name, Names& needed) const {
    if (step.block > 0 || !given_.contains(name)) needed.insert(name);
  }

  bool writes_needed(const Step& step, const Names& needed) const {
    if (keeps_scope_ && step.outlives_run()) return true;
    const std::vector<std::string> names = writes(step);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return needed.contains(name); });
  }

  // A forward block comes before its gradient block, so it is still to be marked, or to be marked
  // again: then so is every block around it, though nothing else may be needed of these.
  void need_shape(const ForwardShape& shape) {
    Marked* marked = &marked_[shape.block];
    if (!marked->end.insert(shape.name).second) return;
    while (marked->block && !marked->is_open) {
      marked->num_end = kNever;
      marked = &marked_[marked->block->parent_idx()];
    }
  }

  bool mark_body(const Step& step, Names& needed) {
    const Body& body = *step.body;
    Marked& marked = marked_[body.block->idx()];
    marked.block = body.block;
    Names& end = marked.end;
    for (const std::string& name : body.writes) {
      if (needed.contains(name)) end.insert(name);
    }
    bool wanted = is_kept(step) || writes_needed(step, needed);
    for (int round = 0;; ++round) {
      if (wanted) end.insert(body.results.begin(), body.results.end());
      // Marked again only with more, or the time would double with every block inside another.
      const std::size_t size = end.size();
      if (marked.num_end != size) {
        Names before = end;
        marked.is_open = true;
        marked.any = mark(body.steps, before);
        marked.is_open = false;
        std::erase_if(before, [&](const std::string& name) { return body.is_local(name); });
        marked.before = std::move(before);
        marked.num_end = size;
      }
      for (const std::string& name : body.writes) {
        if (marked.before.contains(name) || round >= kMaxRounds) end.insert(name);
      }
      if (end.size() == size && wanted >= marked.any) break;
      wanted = wanted || marked.any;
    }
    if (wanted) {
      for (const std::string& name : marked.before) need(step, name, needed);
    }
    return wanted;
  }

  // Of what its kernel can do without.
  static void drop_outputs(Step& step, const Names& wanted) {
    for (const auto& [slot, names] : SlotMap(step.op.outputs())) {
      const OpDef::Slot* declared = step.def != nullptr ? step.def->find_output(slot) : nullptr;
      if (declared == nullptr || !declared->traits.intermediate) continue;
      std::vector<std::string> left = names;
      for (std::string& name : left) {
        if (!wanted.contains(name)) name = kEmptyName;
      }
      step.op.set_output(slot, std::move(left));
    }
  }

  void take_kept(Body& body) const {
    body.steps = take_kept(body.steps);
    body.find_writes();
  }

  static constexpr auto kNever = static_cast<std::size_t>(-1);

  // What is known of a block that a step runs.
  struct Marked {
    const BlockDesc* block = nullptr;  // null until a step that runs it was met
    Names end;                         // needed after a run of it
    std::size_t num_end = kNever;      // how many these were when its steps were marked
    bool is_open = false;              // its steps are being marked
    bool any = false;                  // whether a step is needed
    Names before;                      // needed before a run of it
  };

  const Names given_;
  const bool keeps_scope_;
  std::unordered_map<const Step*, Names> kept_;      // and which of its outputs are wanted
  std::unordered_map<std::int64_t, Marked> marked_;  // by block
};

void add_positions(const Steps& steps,
                   const Marker& marker,
                   std::map<std::int64_t, std::vector<std::size_t>>& positions) {
  for (const Step& step : steps) {
    if (!marker.is_kept(step)) continue;
    positions[step.block].push_back(step.index);
    if (step.body) add_positions(step.body->steps, marker, positions);
  }
}

Names set_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

Steps prune(Steps steps, const std::vector<std::string>& fetches) {
  Marker marker({}, true);
  marker.mark_all(steps, set_of(fetches));
  return marker.take_kept(steps);
}

std::map<std::int64_t, std::vector<std::size_t>> needed_ops(const ProgramDesc& program,
                                                            const OpRegistry& ops,
                                                            const std::vector<std::string>& targets,
                                                            const std::vector<std::string>& given) {
  const Steps steps = steps_of_program(program, ops);
  Marker marker(set_of(given), false);
  marker.mark_all(steps, set_of(targets));
  std::map<std::int64_t, std::vector<std::size_t>> positions;
  add_positions(steps, marker, positions);
  return positions;
}

}  // namespace fluidcore
