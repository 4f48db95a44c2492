#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

#include "fluidcore/runtime/prepared_block.h"

namespace fluidcore {

// What a pass that puts steps together has done.
struct Fused {
  std::vector<std::size_t> position;  // of each step before: of the step that does its work now
  std::set<const Cell*> inner;        // temporaries that need no memory any more
};

// True for a temporary that no step but [first, last] uses.
using LivesWithin = std::function<bool(const Cell*, std::size_t first, std::size_t last)>;

// Puts elementwise steps that follow each other, on tensors of one size, together in one step,
// which does all of them to a tile of elements before it goes on to the next:
//
//   elementwise_add  relu  mul  scale  ->  elementwise_add + relu  mul  scale
//
// No bit of a result changes. Linear in the number of steps.
Fused fuse_elementwise(std::vector<PreparedStep>& steps, const LivesWithin& lives_within);

}  // namespace fluidcore
