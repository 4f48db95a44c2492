#include "fluidcore/program/program_desc.h"

#include <utility>

#include "fluidcore/base/error.h"

namespace fluidcore {

ProgramDesc::ProgramDesc() : revision_(std::make_shared<std::uint64_t>(0)) {
  blocks_.push_back(std::make_unique<BlockDesc>(0, -1, revision_));
}

const BlockDesc& ProgramDesc::block(std::int64_t idx) const {
  if (idx < 0 || static_cast<std::size_t>(idx) >= blocks_.size()) {
    throw NotFound("program: no block ", idx, "; it has ", blocks_.size());
  }
  return *blocks_[static_cast<std::size_t>(idx)];
}

BlockDesc& ProgramDesc::block(std::int64_t idx) {
  return const_cast<BlockDesc&>(std::as_const(*this).block(idx));
}

BlockDesc& ProgramDesc::append_block(std::int64_t parent_idx) {
  block(parent_idx);
  blocks_.push_back(std::make_unique<BlockDesc>(static_cast<std::int64_t>(blocks_.size()),
                                                parent_idx, revision_));
  ++*revision_;
  return *blocks_.back();
}

BlockDesc::VarPtr ProgramDesc::find_var_recursive(std::int64_t idx, std::string_view name) const {
  for (; idx >= 0; idx = block(idx).parent_idx()) {
    if (BlockDesc::VarPtr var = block(idx).find_var(name)) return var;
  }
  return nullptr;
}

void ProgramDesc::set_random_seed(std::uint64_t seed) {
  random_seed_ = seed;
  ++*revision_;
}

std::unique_ptr<ProgramDesc> ProgramDesc::clone() const {
  auto copy = std::make_unique<ProgramDesc>();
  copy->random_seed_ = random_seed_;
  copy->blocks_.clear();
  for (const auto& block : blocks_) {
    auto& target = *copy->blocks_.emplace_back(
        std::make_unique<BlockDesc>(block->idx(), block->parent_idx(), copy->revision_));
    target.forward_block_idx_ = block->forward_block_idx_;
    for (const auto& var : block->vars()) {
      const auto added = target.var(var->name());
      *added = *var;
    }
    for (const auto& op : block->ops()) target.append_op(*op);
  }
  return copy;
}

std::string to_string(const ProgramDesc& program) {
  std::string text;
  for (std::size_t i = 0; i < program.num_blocks(); ++i) {
    const BlockDesc& block = program.block(static_cast<std::int64_t>(i));
    text += str_cat("block ", i);
    if (block.parent_idx() >= 0) text += str_cat(" (parent ", block.parent_idx(), ")");
    text += ":\n";
    for (const auto& var : block.vars()) text += str_cat("  ", *var, "\n");
    for (const auto& op : block.ops()) text += str_cat("  ", *op, "\n");
  }
  return text;
}

}  // namespace fluidcore
