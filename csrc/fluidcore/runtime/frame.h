#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fluidcore/op/cell.h"
#include "fluidcore/runtime/passes/arena.h"
#include "fluidcore/runtime/passes/fuse_rows.h"
#include "fluidcore/runtime/passes/step.h"
#include "fluidcore/runtime/prepared_block.h"

namespace fluidcore {

// One block of a Plan in the making: its variables, and the memory of its temporaries.
//
// The temporaries of a block that a step runs lie in one piece, which is a temporary of the frame
// around it and lives as long as that step.
class Frame {
 public:
  Frame(const BlockDesc& block, Frame* around, PreparedBlock& prepared)
      : block(block), around(around), prepared(prepared) {}

  const BlockDesc& block;
  Frame* const around;  // null for block 0
  PreparedBlock& prepared;
  std::size_t position = 0;       // of the step that is being prepared
  const Body* running = nullptr;  // the block that this step runs, while its frame is filled
  bool repeats = false;           // that block may run again and again
  // What that block reads from outside and never writes, and the constants that it sees in its
  // place.
  std::unordered_map<const Cell*, Cell*> constants;
  bool is_cut = false;  // the last step throws why the rest could not be prepared
  std::unordered_map<std::string, Cell*> current;  // variable -> where its newest value is
  std::unordered_set<const Cell*> surely_set;      // of those that may have no value
  std::map<std::string, int> changes;              // of arrays: how many steps change them
  // Variables with what is added to an array, which they may be in.
  std::vector<std::pair<const Cell*, const Cell*>> next_elements;

  // True for a temporary of this frame.
  bool has(const Cell* cell) const { return index_.contains(cell); }
  Cell* find(const std::string& name) const;  // null where the variable has no value here

  // Gives `cell` memory of this frame from the current step on.
  void add_temporary(Cell* cell, std::size_t bytes);
  // `cell` is in the memory of `of`, a temporary of this frame.
  void add_view(Cell* cell, const Cell* of);
  // `cell`, a temporary of this frame, is used by the current step.
  void extend(const Cell* cell);
  // True for a temporary of this frame that only the steps [first, last] use.
  bool lives_within(const Cell* cell, std::size_t first, std::size_t last) const;
  // Takes the memory from `cell` and what else is in it; nothing unless it is a temporary of this
  // frame that has memory here, all of it. To be called when all steps are prepared.
  Place take_out(const Cell* cell);
  // A pass has put steps together: moves every use, and takes their memory from some temporaries.
  void move(const Fused& fused);
  // Called once, when all steps of this frame are prepared: makes it a temporary of the frame
  // around it.
  void close();
  // Points every cell to its memory, in this frame and those inside; returns the bytes needed.
  std::size_t bytes() const { return layout_.bytes; }
  void place(std::byte* memory);
  // The step that made the largest temporary, in this frame or inside; null where there is none.
  const PreparedStep* of_largest() const;

 private:
  struct Temporary {
    Cell* cell = nullptr;     // or
    Frame* inside = nullptr;  // or neither: its memory is elsewhere
    Lifetime lifetime;
    std::vector<Cell*> views = {};
  };

  std::pair<std::size_t, const PreparedStep*> largest() const;  // with its bytes

  std::vector<Temporary> temporaries_;  // sorted by the first step
  std::unordered_map<const Cell*, std::size_t> index_;
  ArenaLayout layout_;
};

}  // namespace fluidcore
