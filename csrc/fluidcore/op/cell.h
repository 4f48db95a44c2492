#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fluidcore/base/shape.h"

namespace fluidcore {

class DeviceContext;
class TensorArray;

// One variable of a Plan: what is fixed when the Plan is built, and where its memory is while the
// Plan runs. The address may change from run to run, and of variables that are given to a sub-block
// from step to step.
struct Cell {
  TensorSpec spec;                  // of a tensor array: of its elements
  void* data = nullptr;             // null for a tensor array
  TensorArray* array = nullptr;     // null for a tensor
  DeviceContext* device = nullptr;  // whose memory it is; null: the CPU's
  bool is_fed = false;              // what a run is fed,
  const void* fed_from = nullptr;   // and where it is on the host, if it is
  const bool* is_set = nullptr;     // whether it has a value; null: it has
  bool is_constant = false;         // a variable of the scope that the Plan never writes
  // Of a constant: another one when it may have changed since the last run; 0: it always may have.
  std::uint64_t version = 0;
  const Cell* viewed = nullptr;  // the variable in whose memory it has elements
  std::size_t offset = 0;        // the bytes before them there
};

// Variables in one memory, which whoever runs the block points to memory of his.
class Place {
 public:
  Place() = default;
  explicit Place(std::vector<Cell*> cells) : cells_(std::move(cells)) {}

  explicit operator bool() const { return !cells_.empty(); }
  void set(void* memory) const {
    for (Cell* cell : cells_) cell->data = static_cast<std::byte*>(memory) + cell->offset;
  }

 private:
  std::vector<Cell*> cells_;
};

// The variable that owns the memory of `cell`.
inline const Cell* owner_of(const Cell* cell) {
  return cell->viewed == nullptr ? cell : cell->viewed;
}

// The same where `cell` has all elements of it; else `cell`.
inline const Cell* whole_of(const Cell* cell) {
  const Cell* owner = owner_of(cell);
  const bool has_all = cell->spec.shape.num_elements() == owner->spec.shape.num_elements();
  return has_all ? owner : cell;
}

}  // namespace fluidcore
