#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "fluidcore/runtime/frame.h"
#include "fluidcore/runtime/plan_parts.h"

namespace fluidcore {

// Makes the cells of a Plan, and knows whose memory they point to.
class Cells {
 public:
  // Whose memory a cell points to.
  enum class Owner {
    kArena,     // a temporary of a frame
    kScope,     // a variable of the scope
    kElsewhere  // a feed, or what an operator sets in its block: never written to
  };
  struct Use {
    Owner owner = Owner::kArena;
    std::size_t bytes = 0;
    std::size_t scope_cell = 0;    // index in PlanParts, where the owner is a scope
    bool* is_set = nullptr;        // where the variable may have no value
    bool is_shared = false;        // of variables with the same elements: never written again
    bool has_spec = true;          // of an array: an operator has written an element,
    const Step* reader = nullptr;  // and if none has: who was the first to read it
  };

  // `device`: where all of them are; null: on the CPU.
  Cells(PlanParts& parts, DeviceContext* device) : parts_(parts), device_(device) {}

  // The variables that steps write; to be called before there is a cell.
  void set_written(std::set<std::string> names) { written_ = std::move(names); }

  Use& use(const Cell* cell) { return uses_.at(cell); }

  Cell* elsewhere(TensorSpec spec);
  Cell* temporary(Frame& frame, TensorSpec spec);
  // A variable with elements of `of`, from `begin` on, in the same memory, which has no flag and is
  // a temporary of `frame` or whose memory is elsewhere.
  Cell* view(Frame& frame, TensorSpec spec, const Cell* of, std::int64_t begin);
  Cell* array(Frame& home, TensorSpec declared);
  Cell* in_scope(const std::string& name, TensorSpec spec, bool is_read);

  ScopeCell& scope_cell(const Cell* cell) { return parts_.scope_cells[use(cell).scope_cell]; }
  // From now on `cell`, which has no value when the block of `home` begins, has a flag that says
  // whether it has one.
  void add_flag(Frame& home, Cell* cell);

 private:
  Cell* add(TensorSpec spec, Owner owner);

  PlanParts& parts_;
  DeviceContext* device_;
  std::set<std::string> written_;
  std::unordered_map<const Cell*, Use> uses_;
};

}  // namespace fluidcore
