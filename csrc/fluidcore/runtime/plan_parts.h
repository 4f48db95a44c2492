#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "fluidcore/op/cell.h"
#include "fluidcore/runtime/prepared_block.h"
#include "fluidcore/runtime/sub_block_runner.h"
#include "fluidcore/tensor/scratch.h"
#include "fluidcore/tensor/tensor_array.h"

namespace fluidcore {

// A variable of a Plan that lives in the Scope.
struct ScopeCell {
  std::string name;
  Cell* cell = nullptr;
  std::size_t bytes = 0;
  bool is_read = false;  // its value before the run matters: it must be initialized
  bool is_written = false;
  std::size_t first_write = 0;  // by which step of block 0
  bool needs_backup = false;    // the run may still fail after it was written
  bool* is_set = nullptr;       // false at the end of a run: it was not written after all
};

// A fetched variable; `is_set` is null where it surely has a value.
struct FetchCell {
  std::string name;
  Cell* cell = nullptr;
  const bool* is_set = nullptr;
  Place in_result = {};  // calculated in the memory of the result, so there is nothing to copy
};

// Everything a Plan needs in order to run. Cells and what they point to do not move: kernels hold
// their addresses.
struct PlanParts {
  std::deque<Cell> cells;
  std::deque<TensorArray> arrays;
  std::deque<bool> flags;    // whether a variable has a value that is written in sub-blocks only
  std::vector<Cell*> feeds;  // in the order of the request
  std::vector<FetchCell> fetches;  // in the order of the request
  std::vector<ScopeCell> scope_cells;
  std::vector<std::unique_ptr<SubBlockRunner>> sub_blocks;
  PreparedBlock main;  // block 0
  std::shared_ptr<void> arena;
  std::size_t arena_bytes = 0;
  ScratchPtr scratch = std::make_shared<Scratch>();
};

}  // namespace fluidcore
