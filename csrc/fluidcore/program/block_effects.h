#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fluidcore {

class ProgramDesc;

// The deepest nesting of blocks that can be run.
inline constexpr std::int64_t kMaxBlockDepth = 64;

// What a block does to the variables of the blocks around it: the names that its operators use and
// that neither it nor its forward block declares, blocks within it included, each once and in order
// of first use.
struct BlockEffects {
  // Read before the block has written them, or without. A variable that is written but may keep
  // something of its old value counts too: one that a block within writes, which may not run, and
  // a tensor array, of which one element is written.
  std::vector<std::string> reads;
  std::vector<std::string> writes;
};

// The effects of the blocks of one program, each found once; from then on the block must stay as it
// is. Linear in the number of operators, however the blocks are nested.
class EffectsOfBlocks {
 public:
  explicit EffectsOfBlocks(const ProgramDesc& program) : program_(program) {}

  // Throws NotFound for a block that does not exist; InvalidArgument when an operator has a block
  // that is not inside its own, when two have the same, and for blocks nested too deep.
  const BlockEffects& of(std::int64_t block_idx);

 private:
  const ProgramDesc& program_;
  std::map<std::int64_t, BlockEffects> found_;
  std::set<std::int64_t> run_;  // by an operator that was seen
};

// The effects of one block. Throws as EffectsOfBlocks::of.
BlockEffects block_effects(const ProgramDesc& program, std::int64_t block_idx);

// Throws as block_effects unless `sub_block` may be the block of an operator in `block_idx`, whose
// messages begin with `who`.
void check_sub_block(const ProgramDesc& program,
                     std::int64_t block_idx,
                     std::int64_t sub_block,
                     const std::string& who);

}  // namespace fluidcore
