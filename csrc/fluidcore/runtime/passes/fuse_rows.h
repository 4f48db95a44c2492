#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "fluidcore/runtime/prepared_block.h"

namespace fluidcore {

// What a pass that puts steps together has done.
struct Fused {
  std::vector<std::size_t> begins;    // of each step before: of the step that begins its work now,
  std::vector<std::size_t> position;  // and of the one that ends it
  std::set<const Cell*> inner;        // temporaries that need no memory any more
  // What a step uses, in the new order, that only one before it did.
  std::vector<std::pair<const Cell*, std::size_t>> uses = {};
};

// One step that does the work of several with `kernel`: its names, place, work and arithmetic.
PreparedStep joined(std::span<const PreparedStep> steps,
                    Kernel kernel,
                    std::vector<PreparedStep::Output> outputs);

// Leaves out the steps that do nothing, as those whose outputs are all views.
Fused drop_empty(std::vector<PreparedStep>& steps);

// True for a temporary that no step but [first, last] uses.
using LivesWithin = std::function<bool(const Cell*, std::size_t first, std::size_t last)>;

// Puts steps that follow each other and work row by row, see RowKernel, together in one, which does
// all of them to a few rows before it goes on to the next:
//
//   elementwise_add  relu  mul  scale  ->  elementwise_add + relu  mul  scale
//
// Of a step that ends with rows, see Kernel::first(), these may be the first that are put together:
//
//   batch_norm  relu  ->  batch_norm  batch_norm + relu
//
// No bit of a result changes.
Fused fuse_rows(std::vector<PreparedStep>& steps, const LivesWithin& lives_within);

}  // namespace fluidcore
