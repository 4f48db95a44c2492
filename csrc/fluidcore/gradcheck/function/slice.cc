#include "fluidcore/gradcheck/function/slice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "fluidcore/program/block_effects.h"

namespace fluidcore::gradcheck {

namespace {

using Names = std::unordered_set<std::string>;

// What one operator of block 0 does to the variables of block 0, its blocks included.
struct Effects {
  Names reads;     // also what is written and may keep something of its old value
  Names elements;  // those of the reads whose elements are read, not only their shapes
  Names writes;
};

// Adds the names in `lists` to `names`, without @EMPTY@.
void add(Names& names, const std::vector<std::string>& list) {
  for (const std::string& name : list) {
    if (name != kEmptyName) names.insert(name);
  }
}

std::vector<std::int64_t> blocks_of(const OpDesc& op) {
  std::vector<std::int64_t> blocks;
  for (const auto& [name, value] : op.attrs()) {
    if (const auto* index = std::get_if<BlockIndex>(&value)) blocks.push_back(index->value);
  }
  return blocks;
}

Effects effects_of(const OpRegistry& ops, const ProgramDesc& program, const OpDesc& op) {
  const OpDef& def = ops.get(op.type());
  Effects effects;
  for (const OpDef::Slot& slot : def.inputs()) {
    add(effects.reads, op.input(slot.name));
    if (!def.reads_only_shape(op, slot)) add(effects.elements, op.input(slot.name));
  }
  for (const OpDef::Slot& slot : def.outputs()) {
    add(effects.writes, op.output(slot.name));
    if (!slot.traits.array) continue;
    add(effects.reads, op.output(slot.name));
    add(effects.elements, op.output(slot.name));
  }
  const std::vector<std::int64_t> blocks = blocks_of(op);
  if (blocks.empty()) return effects;
  for (const std::int64_t idx : blocks) {
    const BlockEffects inside = block_effects(program, idx);
    add(effects.reads, inside.reads);
    add(effects.writes, inside.writes);
  }
  // The block may not run, and then changes nothing.
  effects.reads.insert(effects.writes.begin(), effects.writes.end());
  effects.elements = effects.reads;
  return effects;
}

// The variables that some operator reads only if they have a value: no one can fetch them.
Names maybe_unset(const OpRegistry& ops, const ProgramDesc& program) {
  Names names;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(program.num_blocks()); ++i) {
    for (const auto& op : program.block(i).ops()) {
      for (const OpDef::Slot& slot : ops.get(op->type()).inputs()) {
        if (slot.traits.may_be_unset) add(names, op->input(slot.name));
      }
    }
  }
  return names;
}

bool meet(const Names& a, const Names& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

class Slicer {
 public:
  Slicer(const OpRegistry& ops,
         const ProgramDesc& program,
         const std::set<std::string>& feeds,
         const std::vector<std::string>& outputs)
      : program_(program), feeds_(feeds), outputs_(outputs), unset_(maybe_unset(ops, program)) {
    for (const auto& op : program.block(0).ops()) {
      effects_.push_back(effects_of(ops, program, *op));
      for (const std::string& name : effects_.back().writes) {
        writers_[name].push_back(effects_.size() - 1);
      }
    }
    kept_.resize(effects_.size());
    find_owners();
  }

  Slice slice(const std::string& input) {
    keep_what_depends_on(input);
    while (keep_what_cannot_be_fed()) calculated_.clear();
    Slice result;
    if (std::find(kept_.begin(), kept_.end(), false) == kept_.end()) return result;
    result.program = without_others();
    result.calculated.assign(calculated_.begin(), calculated_.end());
    return result;
  }

 private:
  // Which operator of block 0 runs a block, at whatever depth.
  void find_owners() {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      std::vector<std::int64_t> waiting = blocks_of(*program_.block(0).ops()[i]);
      while (!waiting.empty()) {
        const std::int64_t idx = waiting.back();
        waiting.pop_back();
        owner_[idx] = i;
        for (const auto& op : program_.block(idx).ops()) {
          for (const std::int64_t inner : blocks_of(*op)) waiting.push_back(inner);
        }
      }
    }
  }

  void keep_what_depends_on(const std::string& input) {
    Names moved = {input};
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      kept_[i] = meet(effects_[i].elements, moved);
      for (const std::string& name : effects_[i].writes) {
        if (kept_[i]) {
          moved.insert(name);
        } else if (!effects_[i].reads.contains(name)) {
          moved.erase(name);
        }
      }
    }
  }

  // True if there was something to add.
  bool keep_what_cannot_be_fed() {
    const std::vector<bool> before = kept_;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i]) continue;
      for (const std::string& name : effects_[i].reads) supply(name, i);
    }
    for (const std::string& name : outputs_) supply(name, kept_.size());
    // A gradient block takes shapes from its forward block.
    for (const auto& [block, owner] : owner_) {
      const auto forward = owner_.find(program_.block(block).forward_block_idx());
      if (kept_[owner] && forward != owner_.end()) kept_[forward->second] = true;
    }
    return kept_ != before;
  }

  // Sees to it that operator `reader` finds the value of `name` that it finds in the whole program.
  void supply(const std::string& name, std::size_t reader) {
    const auto found = writers_.find(name);
    if (found == writers_.end()) return;  // fed, and never changed
    const std::vector<std::size_t>& writers = found->second;
    const bool any_kept =
        std::any_of(writers.begin(), writers.end(), [&](std::size_t i) { return kept_[i]; });
    const bool is_final = reader > writers.back();
    if (!any_kept && reader <= writers.front() && feeds_.contains(name) && !is_read_later(name)) {
      return;
    }
    if (!any_kept && is_final && can_be_fed(name) && !is_read_earlier(name)) {
      calculated_.insert(name);
      return;
    }
    for (const std::size_t i : writers) kept_[i] = true;
  }

  // True if something that is kept reads `name` after the first operator that writes it.
  bool is_read_later(const std::string& name) const {
    if (std::find(outputs_.begin(), outputs_.end(), name) != outputs_.end()) return true;
    return is_read(name, writers_.at(name).front() + 1, kept_.size());
  }
  bool is_read_earlier(const std::string& name) const {
    return is_read(name, 0, writers_.at(name).back() + 1);
  }
  bool is_read(const std::string& name, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (kept_[i] && effects_[i].reads.contains(name)) return true;
    }
    return false;
  }

  bool can_be_fed(const std::string& name) const {
    const auto var = program_.block(0).find_var(name);
    return !unset_.contains(name) && (!var || var->type() == VarType::kTensor);
  }

  std::unique_ptr<ProgramDesc> without_others() const {
    std::unique_ptr<ProgramDesc> rest = program_.clone();
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i]) continue;
      OpDesc& op = *rest->block(0).ops()[i];
      for (const auto& [slot, names] : SlotMap(op.outputs())) {
        op.set_output(slot, std::vector<std::string>(names.size(), std::string(kEmptyName)));
      }
    }
    for (const auto& [block, owner] : owner_) {
      if (!kept_[owner]) rest->block(block).remove_op(0, rest->block(block).ops().size());
    }
    return rest;
  }

  const ProgramDesc& program_;
  const std::set<std::string>& feeds_;
  const std::vector<std::string>& outputs_;
  const Names unset_;
  std::vector<Effects> effects_;
  std::unordered_map<std::string, std::vector<std::size_t>> writers_;
  std::map<std::int64_t, std::size_t> owner_;
  std::vector<bool> kept_;
  std::set<std::string> calculated_;
};

}  // namespace

Slice slice(const OpRegistry& ops,
            const ProgramDesc& program,
            const std::set<std::string>& feeds,
            const std::string& input,
            const std::vector<std::string>& outputs) {
  return Slicer(ops, program, feeds, outputs).slice(input);
}

}  // namespace fluidcore::gradcheck
