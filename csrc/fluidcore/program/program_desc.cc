#include "fluidcore/program/program_desc.h"

#include <cstddef>
#include <map>
#include <utility>

#include "fluidcore/base/error.h"

namespace fluidcore {

namespace {

void renumber_blocks(OpDesc& op, const std::map<std::int64_t, std::int64_t>& places) {
  const AttributeMap before = op.attrs();
  for (const auto& [name, value] : before) {
    const auto* inner = std::get_if<BlockIndex>(&value);
    if (inner != nullptr) op.set_attr(name, BlockIndex{places.at(inner->value)});
  }
}

}  // namespace

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

void ProgramDesc::remove_blocks(std::size_t first) {
  require(first >= 1 && first <= blocks_.size(), "program: blocks can be removed from 1 to ",
          blocks_.size(), " on, got ", first);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(first), blocks_.end());
  ++*revision_;
}

void ProgramDesc::keep_blocks(const std::vector<std::int64_t>& indices) {
  require(!indices.empty() && indices.front() == 0,
          "program: the blocks to keep must begin with the outermost, block 0");
  std::map<std::int64_t, std::int64_t> places = {{-1, -1}};
  for (const std::int64_t idx : indices) {
    block(idx);
    require(idx > places.rbegin()->first,
            "program: the blocks to keep must be in ascending order, ", "got block ", idx,
            " after block ", places.rbegin()->first);
    places.emplace(idx, static_cast<std::int64_t>(places.size()) - 1);
  }
  const auto check_kept = [&](const BlockDesc& kept, const char* what, std::int64_t named) {
    require(places.contains(named), "program: block ", kept.idx(), " must be kept together with ",
            what, ", block ", named);
  };
  for (const std::int64_t idx : indices) {
    const BlockDesc& kept = block(idx);
    check_kept(kept, "the block around it", kept.parent_idx());
    check_kept(kept, "its forward block", kept.forward_block_idx());
    for (const auto& op : kept.ops()) {
      for (const auto& [name, value] : op->attrs()) {
        const auto* inner = std::get_if<BlockIndex>(&value);
        if (inner != nullptr) check_kept(kept, "the block of an operator", inner->value);
      }
    }
  }
  std::vector<std::unique_ptr<BlockDesc>> kept;
  for (const std::int64_t idx : indices) {
    BlockDesc& moved = *kept.emplace_back(std::move(blocks_[static_cast<std::size_t>(idx)]));
    moved.idx_ = places.at(moved.idx_);
    moved.parent_idx_ = places.at(moved.parent_idx_);
    moved.forward_block_idx_ = places.at(moved.forward_block_idx_);
    for (const auto& op : moved.ops()) renumber_blocks(*op, places);
  }
  blocks_ = std::move(kept);
  ++*revision_;
}

BlockDesc::VarPtr ProgramDesc::find_var_recursive(std::int64_t idx, std::string_view name) const {
  // Never further than there are blocks: a damaged program may have parents in a circle.
  for (std::size_t left = blocks_.size(); idx >= 0 && left > 0; --left) {
    const BlockDesc& around = block(idx);
    if (BlockDesc::VarPtr var = around.find_var(name)) return var;
    const std::int64_t forward = find_in_forward(idx, name);
    if (forward >= 0) return block(forward).find_var(name);
    idx = around.parent_idx();
  }
  return nullptr;
}

std::int64_t ProgramDesc::find_in_forward(std::int64_t idx, std::string_view name) const {
  for (std::size_t left = blocks_.size(); left > 0; --left) {
    idx = block(idx).forward_block_idx();
    if (idx < 0 || block(idx).find_var(name)) return idx;
  }
  return -1;
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
    if (block.parent_idx() >= 0) {
      text += str_cat(" (parent ", block.parent_idx());
      if (block.forward_block_idx() >= 0) {
        text += str_cat(", gradient of block ", block.forward_block_idx());
      }
      text += ')';
    }
    text += ":\n";
    for (const auto& var : block.vars()) text += str_cat("  ", *var, "\n");
    for (const auto& op : block.ops()) text += str_cat("  ", *op, "\n");
  }
  return text;
}

}  // namespace fluidcore
