#include "fluidcore/program/block_effects.h"

#include <unordered_set>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/program/program_desc.h"

namespace fluidcore {

namespace {

std::vector<std::int64_t> blocks_of(const OpDesc& op) {
  std::vector<std::int64_t> blocks;
  for (const auto& [name, value] : op.attrs()) {
    if (const auto* index = std::get_if<BlockIndex>(&value)) blocks.push_back(index->value);
  }
  return blocks;
}

// Adds up the effects of one block's operators, in order.
class EffectsOfBlock {
 public:
  EffectsOfBlock(const ProgramDesc& program, const BlockDesc& block)
      : program_(program), block_(block) {}

  void add(const OpDesc& op, const std::map<std::int64_t, BlockEffects>& inner) {
    for (const auto& [slot, names] : op.inputs()) {
      for (const std::string& name : names) read(name);
    }
    for (const std::int64_t idx : blocks_of(op)) {
      const BlockEffects& effects = inner.at(idx);
      for (const std::string& name : effects.reads) read(name);
      for (const std::string& name : effects.writes) {
        read(name);
        write(name);
      }
    }
    for (const auto& [slot, names] : op.outputs()) {
      for (const std::string& name : names) {
        if (!written_.contains(name) && is_array(name)) read(name);
        write(name);
      }
    }
  }
  BlockEffects take() { return std::move(effects_); }

 private:
  bool is_outer(const std::string& name) const {
    if (name == kEmptyName || block_.find_var(name)) return false;
    return program_.find_in_forward(block_.idx(), name) < 0;
  }
  bool is_array(const std::string& name) const {
    const auto var = program_.find_var_recursive(block_.idx(), name);
    return var && var->type() == VarType::kTensorArray;
  }
  void read(const std::string& name) {
    if (written_.contains(name) || read_.contains(name) || !is_outer(name)) return;
    read_.insert(name);
    effects_.reads.push_back(name);
  }
  void write(const std::string& name) {
    if (written_.contains(name) || !is_outer(name)) return;
    written_.insert(name);
    effects_.writes.push_back(name);
  }

  const ProgramDesc& program_;
  const BlockDesc& block_;
  std::unordered_set<std::string> read_;
  std::unordered_set<std::string> written_;
  BlockEffects effects_;
};

}  // namespace

void check_sub_block(const ProgramDesc& program,
                     std::int64_t block_idx,
                     std::int64_t sub_block,
                     const std::string& who) {
  if (sub_block < 0 || sub_block >= static_cast<std::int64_t>(program.num_blocks())) {
    throw NotFound(who, ": sub_block must be a block of the program, got block ", sub_block,
                   "; it has ", program.num_blocks());
  }
  const std::int64_t parent = program.block(sub_block).parent_idx();
  require(parent == block_idx, who, ": sub_block must be a block inside block ", block_idx,
          ", where the operator is, got block ", sub_block,
          sub_block == block_idx ? " itself"
          : parent < 0           ? ", the outermost"
                                 : str_cat(", which is inside block ", parent));
  std::int64_t depth = 1;
  for (std::int64_t idx = block_idx; idx > 0; idx = program.block(idx).parent_idx()) ++depth;
  require(depth <= kMaxBlockDepth, who, ": blocks must be nested at most ", kMaxBlockDepth,
          " deep, got block ", sub_block, " at depth ", depth);
}

const BlockEffects& EffectsOfBlocks::of(std::int64_t block_idx) {
  const auto known = found_.find(block_idx);
  if (known != found_.end()) return known->second;
  const BlockDesc& block = program_.block(block_idx);
  EffectsOfBlock effects(program_, block);
  for (const auto& op : block.ops()) {
    for (const std::int64_t inner : blocks_of(*op)) {
      check_sub_block(program_, block_idx, inner, op->type());
      require(run_.insert(inner).second, op->type(), ": sub_block must be run by one operator ",
              "only, got block ", inner, ", which another one runs");
      of(inner);
    }
    effects.add(*op, found_);
  }
  return found_.emplace(block_idx, effects.take()).first->second;
}

BlockEffects block_effects(const ProgramDesc& program, std::int64_t block_idx) {
  return EffectsOfBlocks(program).of(block_idx);
}

}  // namespace fluidcore
