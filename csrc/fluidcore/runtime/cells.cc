#include "fluidcore/runtime/cells.h"

#include <utility>

namespace fluidcore {

Cell* Cells::add(TensorSpec spec, Owner owner) {
  const std::size_t bytes = byte_size(spec);
  Cell* cell = &parts_.cells.emplace_back(Cell{.spec = std::move(spec), .device = device_});
  uses_.emplace(cell, Use{.owner = owner, .bytes = bytes});
  return cell;
}

Cell* Cells::elsewhere(TensorSpec spec) {
  return add(std::move(spec), Owner::kElsewhere);
}

Cell* Cells::temporary(Frame& frame, TensorSpec spec) {
  Cell* cell = add(std::move(spec), Owner::kArena);
  frame.add_temporary(cell, use(cell).bytes);
  return cell;
}

Cell* Cells::view(Frame& frame, TensorSpec spec, const Cell* of, std::int64_t begin) {
  const std::size_t offset = of->offset + static_cast<std::size_t>(begin) * size_of(spec.dtype);
  of = owner_of(of);
  Use& owner = use(of);
  owner.is_shared = true;
  Cell* cell = add(std::move(spec), owner.owner);
  use(cell).is_shared = true;
  cell->viewed = of;
  cell->offset = offset;
  cell->is_constant = of->is_constant;
  if (owner.owner == Owner::kArena) frame.add_view(cell, of);
  return cell;
}

Cell* Cells::array(Frame& home, TensorSpec declared) {
  TensorArray* array = &parts_.arrays.emplace_back();
  Cell* cell = &parts_.cells.emplace_back(
      Cell{.spec = std::move(declared), .array = array, .device = device_});
  uses_.emplace(cell, Use{.owner = Owner::kElsewhere, .has_spec = false});
  home.prepared.arrays.push_back(cell);
  return cell;
}

Cell* Cells::in_scope(const std::string& name, TensorSpec spec, bool is_read) {
  Cell* cell = add(std::move(spec), Owner::kScope);
  cell->is_constant = !written_.contains(name);
  use(cell).scope_cell = parts_.scope_cells.size();
  parts_.scope_cells.push_back(
      {.name = name, .cell = cell, .bytes = use(cell).bytes, .is_read = is_read});
  return cell;
}

void Cells::add_flag(Frame& home, Cell* cell) {
  bool* is_set = &parts_.flags.emplace_back(false);
  home.prepared.unset.push_back(is_set);
  Use& flagged = use(cell);
  flagged.is_set = is_set;
  cell->is_set = is_set;
  if (flagged.owner == Owner::kScope) scope_cell(cell).is_set = is_set;
}

}  // namespace fluidcore
