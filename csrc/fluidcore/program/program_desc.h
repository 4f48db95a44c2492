#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/program/block_desc.h"

namespace fluidcore {

// A whole program: blocks nested by index, block 0 being the outermost.
class ProgramDesc {
 public:
  ProgramDesc();
  ProgramDesc(const ProgramDesc&) = delete;
  ProgramDesc& operator=(const ProgramDesc&) = delete;

  std::size_t num_blocks() const { return blocks_.size(); }
  BlockDesc& block(std::int64_t idx);  // throws NotFound
  const BlockDesc& block(std::int64_t idx) const;
  BlockDesc& append_block(std::int64_t parent_idx);  // throws NotFound for an unknown parent
  // Removes the blocks from `first` on, with all that is in them; throws InvalidArgument for the
  // outermost block and beyond the end. No operator that stays may name one of them.
  void remove_blocks(std::size_t first);

  // Removes all blocks but these, which come in ascending order and begin with the outermost; those
  // that stay are numbered anew, in operators, parents and forward blocks too. Throws, changing
  // nothing, NotFound for a block that does not exist, InvalidArgument for another order and when a
  // block that stays names one that does not.
  void keep_blocks(const std::vector<std::int64_t>& indices);

  // The variable in block `idx` or the nearest of its ancestors that has it; null if none has. A
  // gradient block also sees the variables of its forward block, after its own: their descriptions
  // hold for it, but not their values. Throws NotFound for a block that does not exist.
  BlockDesc::VarPtr find_var_recursive(std::int64_t idx, std::string_view name) const;
  // The forward block of block `idx`, or the forward block of that one, and so on, that has the
  // variable; -1 if none has.
  std::int64_t find_in_forward(std::int64_t idx, std::string_view name) const;

  // The seed of random operators that have none of their own; 0: a new one for each Executor.
  std::uint64_t random_seed() const { return random_seed_; }
  void set_random_seed(std::uint64_t seed);

  // Grows with every change of the program or of anything in it. The pointer tells programs apart.
  const Revision& revision() const { return revision_; }

  std::unique_ptr<ProgramDesc> clone() const;

 private:
  Revision revision_;
  std::vector<std::unique_ptr<BlockDesc>> blocks_;
  std::uint64_t random_seed_ = 0;
};

// The program as readable text: a line per variable and per operator.
std::string to_string(const ProgramDesc& program);

}  // namespace fluidcore
