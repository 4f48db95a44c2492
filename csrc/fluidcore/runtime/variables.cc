#include "fluidcore/runtime/variables.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/runtime/scope.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

namespace {

bool reads(const OpDesc& op, const std::string& name) {
  return std::any_of(op.inputs().begin(), op.inputs().end(), [&](const auto& slot) {
    return std::count(slot.second.begin(), slot.second.end(), name) > 0;
  });
}

// True when the kernel may write output `slot` over the input that holds `name`.
bool is_in_place(const Step& step, const std::string& slot, const std::string& name) {
  return std::all_of(step.op.inputs().begin(), step.op.inputs().end(), [&](const auto& input) {
    return std::count(input.second.begin(), input.second.end(), name) == 0 ||
           step.def->is_in_place(input.first, slot);
  });
}

void check_kind(const Cell& cell,
                const Step& step,
                const OpDef::Slot& slot,
                const std::string& name) {
  const bool is_array = cell.array != nullptr;
  require(is_array == slot.traits.array, step.op.type(), ": ", slot.name, " must be a tensor",
          slot.traits.array ? " array" : "", ", got the tensor", is_array ? " array '" : " '", name,
          "'");
}

void copy(const Surroundings::Copy& copy, DeviceContext& device) {
  device.copy(copy.to->data, copy.from->data, copy.bytes);
}

bool reads_inside(const Body& body, const std::string& name) {
  if (body.is_local(name)) return false;
  return std::any_of(body.steps.begin(), body.steps.end(), [&](const Step& step) {
    return reads(step.op, name) || (step.body && reads_inside(*step.body, name));
  });
}

}  // namespace

Kernel Surroundings::around(Kernel kernel, DeviceContext& device) const {
  if (before.empty() && views.empty() && constants.empty() && removed.empty() && checks.empty() &&
      after.empty() && set.empty()) {
    return kernel;
  }
  const bool is_enqueued = (kernel.is_enqueued() || kernel.is_empty()) && checks.empty() &&
                           removed.empty() && set.empty();
  std::function<void()> check = kernel.check();
  auto run = [kernel = std::move(kernel), *this, &device] {
    for (const View& view : views) view.point();
    for (const auto& [cell, of] : constants) {
      cell->data = of->data;
      ++cell->version;
    }
    for (const Copy& start : before) copy(start, device);
    for (const auto& check : checks) check();
    if (!kernel.is_empty()) kernel.work();
    // Nobody writes to them.
    for (const auto& [cell, of] : removed) cell->data = const_cast<void*>(of->array->removed());
    for (const Copy& result : after) copy(result, device);
    for (bool* is_set : set) *is_set = true;
  };
  if (is_enqueued && !device.device().is_cpu()) {
    return Kernel::enqueued(std::move(run), std::move(check));
  }
  if (!check) return run;
  return [check = std::move(check), run = std::move(run)] {
    check();
    run();
  };
}

Cell* Variables::read(Frame& frame,
                      const Step& step,
                      const OpDef::Slot& slot,
                      const std::string& name,
                      Surroundings& surroundings) {
  const std::string who = str_cat(step.op.type(), ": ", slot.name);
  const bool shape_only = step.def->reads_only_shape(step.op, slot);
  if (shape_only) {
    const auto shape = std::find_if(step.shapes.begin(), step.shapes.end(),
                                    [&](const ForwardShape& known) { return known.name == name; });
    if (shape != step.shapes.end()) {
      TensorSpec spec = frames_.spec_of(*shape);
      require(spec.shape.is_known(), who, " '", name, "' must be written in block ", shape->block,
              ", the forward block, got no operator before that runs it");
      return cells_.elsewhere(std::move(spec));
    }
  }
  Frame& home = frames_.home_of(frame, name);
  Cell* cell = find(home, name);
  if (cell == nullptr && slot.traits.array) {
    const auto var = frames_.declared(home, name);
    cell = home.current[name] = cells_.array(home, var ? var->spec() : TensorSpec{});
    cells_.use(cell).reader = &step;
  }
  if (cell == nullptr) cell = find_written_later(frame, home, name);
  if (cell == nullptr) frames_.report_unwritten(frame, who, name);
  check_kind(*cell, step, slot, name);
  if (shape_only) return cell;
  use(home, cell);
  const bool* is_set = cells_.use(cell).is_set;
  if (is_set == nullptr) return as_constant(frame, home, name, cell);
  if (slot.traits.may_be_unset) return cell;
  if (is_surely_set(frame, home, cell)) return cell;
  surroundings.checks.emplace_back([who, name, is_set] {
    require(*is_set, who, " '", name, "' must be written before it is read, ",
            "got a block that was not run, or did not write it; write it before the block too");
  });
  frame.surely_set.insert(cell);
  return cell;
}

Cell* Variables::write(Frame& frame,
                       const Step& step,
                       const OpDef::Slot& slot,
                       const std::string& name,
                       const TensorSpec& spec,
                       Surroundings& surroundings) {
  if (slot.traits.array) return write_array(frame, step, slot, name, spec);
  Frame& home = frames_.home_of(frame, name);
  Cell* old = home.find(name);
  if (old != nullptr) check_kind(*old, step, slot, name);
  const bool persistable = frames_.is_persistable(frame, name);
  const bool read_inside = step.body && reads_inside(*step.body, name);
  const bool overwrites_input = old != nullptr && (read_inside || reads(step.op, name));
  const bool in_place = overwrites_input && !read_inside && old->spec == spec &&
                        !cells_.use(old).is_shared && is_in_place(step, slot.name, name);
  if (!persistable && &home == &frame) {
    return write_local(frame, name, in_place ? old : nullptr, spec);
  }
  if (old == nullptr) {
    old = persistable ? cells_.in_scope(name, spec, false) : cells_.temporary(home, spec);
    home.current[name] = old;
    if (&home != &frame) cells_.add_flag(home, old);
  }
  require(!persistable || cells_.use(old).owner == Cells::Owner::kScope, step.op.type(), ": ",
          slot.name, " '", name, "' lives in the scope and is written here, so it cannot be fed; ",
          "set it in the scope instead");
  require(old->spec == spec, step.op.type(), ": ", slot.name, " '", name,
          "' must keep its shape in the ", persistable ? "scope" : "block", ", ", old->spec,
          ", got ", spec);
  if (persistable) {
    ScopeCell& kept = cells_.scope_cell(old);
    if (!std::exchange(kept.is_written, true)) kept.first_write = frames_.main().position;
  }
  use(home, old);
  const Cells::Use& written = cells_.use(old);
  if (written.is_set != nullptr) {
    surroundings.set.push_back(written.is_set);
    frame.surely_set.insert(old);
  }
  if (!overwrites_input || in_place) return old;
  const std::size_t bytes = written.bytes;
  Cell* result = cells_.temporary(frame, spec);
  surroundings.after.push_back({result, old, bytes});
  return result;
}

Cell* Variables::view(Frame& frame,
                      const std::string& name,
                      const TensorSpec& spec,
                      const Cell* of,
                      std::int64_t begin,
                      Surroundings& surroundings) {
  if (&frames_.home_of(frame, name) != &frame || frames_.is_persistable(frame, name))
    return nullptr;
  if (spec.dtype != of->spec.dtype || spec.rows.has_value() || of->spec.rows.has_value()) {
    return nullptr;
  }
  if (of->array != nullptr) {
    Cell* cell = frame.current[name] = cells_.elsewhere(spec);
    surroundings.removed.push_back({cell, of});
    return cell;
  }
  const Cells::Use& used = cells_.use(of);
  const bool is_temporary = used.owner == Cells::Owner::kArena;
  const bool may_change =
      is_temporary ? !frame.has(of) : used.owner == Cells::Owner::kScope && !of->is_constant;
  if (may_change || used.is_set != nullptr) return nullptr;
  Cell* cell = frame.current[name] = cells_.view(frame, spec, of, begin);
  if (!is_temporary) surroundings.views.push_back({cell, owner_of(of)});
  return cell;
}

Cell* Variables::write_local(Frame& frame,
                             const std::string& name,
                             Cell* old,
                             const TensorSpec& spec) {
  if (old != nullptr && cells_.use(old).owner == Cells::Owner::kArena) {
    frame.extend(old);
    return old;
  }
  return frame.current[name] = cells_.temporary(frame, spec);
}

Cell* Variables::write_array(Frame& frame,
                             const Step& step,
                             const OpDef::Slot& slot,
                             const std::string& name,
                             const TensorSpec& spec) {
  Frame& home = frames_.home_of(frame, name);
  Cell* cell = home.find(name);
  if (cell == nullptr) cell = home.current[name] = cells_.array(home, spec);
  check_kind(*cell, step, slot, name);
  if (!spec.shape.is_known()) return cell;  // its elements are written elsewhere
  Cells::Use& known = cells_.use(cell);
  // Of an array that was declared without a shape, nobody has asked for an element yet.
  const bool is_blank = cell->spec.shape.rank() == 0 && (!known.reader || known.reader == &step);
  const bool fits = known.has_spec ? cell->spec == spec
                                   : is_blank || (cell->spec.dtype == spec.dtype &&
                                                  compatible(cell->spec.shape, spec.shape));
  require(fits, step.op.type(), ": ", slot.name, " '", name,
          "' must keep the shape and dtype of its elements, ", cell->spec, ", got ", spec);
  known.has_spec = true;
  cell->spec = spec;
  return cell;
}

void Variables::open_to_block(Frame& frame, const Body& body, Surroundings& surroundings) {
  for (const std::string& name : body.writes) {
    if (&frames_.home_of(frame, name) != &frame) continue;
    Cell* cell = find(frame, name);
    if (cell == nullptr || cell->array != nullptr) continue;
    const Cells::Use used = cells_.use(cell);
    const bool is_own = used.owner == Cells::Owner::kArena && !used.is_shared;
    if (is_own || frames_.is_persistable(frame, name)) continue;
    use(frame, cell);
    Cell* own = frame.current[name] = cells_.temporary(frame, cell->spec);
    surroundings.before.push_back({cell, own, used.bytes});
  }
}

Cell* Variables::give(Frame& inside,
                      const std::string& type,
                      const std::string& name,
                      TensorSpec spec) {
  const auto var = inside.block.find_var(name);
  if (!var) {
    throw NotFound(type, ": no variable '", name, "' in block ", inside.block.idx(),
                   ", which the operator runs");
  }
  require(var->type() == VarType::kTensor && !var->persistable(), type, ": '", name,
          "' is set in every step, so it must be a temporary of the block, got ",
          var->persistable() ? "one that lives in the scope" : described(var->type()));
  require(spec.shape.is_known(), type, ": '", name, "' must have a known shape when the program ",
          "runs, got ", spec.shape);
  require(inside.find(name) == nullptr, type, ": each variable that is set in a step must be ",
          "one of its own, got '", name, "' twice");
  return inside.current[name] = cells_.elsewhere(std::move(spec));
}

void Variables::stand_in_for_unwritten(Frame& inside, const Body& body) {
  std::set<std::string> names = body.writes;
  names.insert(body.results.begin(), body.results.end());
  for (const std::string& name : names) {
    Frame& home = frames_.home_of(inside, name);
    const auto var = frames_.declared(inside, name);
    if (find(home, name) != nullptr || !var || var->persistable()) continue;
    if (var->type() != VarType::kTensor) continue;
    std::vector<std::int64_t> extents(var->shape().begin(), var->shape().end());
    for (std::int64_t& extent : extents) extent = std::max<std::int64_t>(extent, 0);
    Cell* cell = cells_.temporary(home, {Shape(std::move(extents)), var->dtype()});
    home.current[name] = cell;
    cells_.add_flag(home, cell);
  }
}

FetchCell Variables::newest(Frame& frame, const std::string& name) {
  Frame& home = frames_.home_of(frame, name);
  Cell* cell = find(home, name);
  if (cell == nullptr) return {name, nullptr, nullptr};
  use(home, cell);
  const bool is_set = is_surely_set(frame, home, cell);
  return {name, cell, is_set ? nullptr : cells_.use(cell).is_set};
}

Cell* Variables::find(Frame& home, const std::string& name) {
  Cell* cell = home.find(name);
  return cell == nullptr && home.around == nullptr ? from_scope(name) : cell;
}

// Perhaps an operator further down writes it, in an earlier step of a loop: no one can have told
// its shape yet but the program.
Cell* Variables::find_written_later(Frame& frame, Frame& home, const std::string& name) {
  const auto var = frames_.declared(frame, name);
  const bool is_written = home.running != nullptr && home.running->writes.contains(name);
  if (!is_written || !var || var->persistable() || !is_known(var->spec())) return nullptr;
  Cell* cell = home.current[name] = cells_.temporary(home, var->spec());
  cells_.add_flag(home, cell);
  return cell;
}

Cell* Variables::from_scope(const std::string& name) {
  const auto variable = scope_.find_var(name);
  const std::optional<TensorSpec> held = variable ? variable->spec() : std::nullopt;
  if (!held) return nullptr;
  const TensorSpec& spec = *held;
  if (const auto var = frames_.declared(frames_.main(), name)) {
    const bool is_alike = var->spec().rows.has_value() == spec.rows.has_value();
    require(is_alike && var->dtype() == spec.dtype && compatible(var->shape(), spec.shape), "'",
            name, "' in the scope must be as the program declares it, ", var->spec(), ", got ",
            spec);
  }
  return frames_.main().current[name] = cells_.in_scope(name, spec, true);
}

// A cell that lives outside of the step's own block lives until the operator that runs it is done.
void Variables::use(Frame& home, const Cell* cell) {
  if (cells_.use(cell).owner == Cells::Owner::kArena) home.extend(cell);
}

// For a block that runs again and again, what it reads from outside and never writes is a constant.
Cell* Variables::as_constant(Frame& frame, const Frame& home, const std::string& name, Cell* cell) {
  if (cell->is_constant || cell->array != nullptr) return cell;
  Frame* around = nullptr;  // all blocks from the one that it runs on leave the variable alone
  for (Frame* inside = &frame; inside != &home;) {
    inside = inside->around;
    if (inside->running->writes.contains(name)) break;
    if (inside->repeats) around = inside;
  }
  if (around == nullptr) return cell;
  Cell*& constant = around->constants[cell];
  if (constant == nullptr) {
    constant = cells_.elsewhere(cell->spec);
    constant->is_constant = true;
  }
  return constant;
}

bool Variables::is_surely_set(const Frame& frame, const Frame& home, const Cell* cell) const {
  for (const Frame* inside = &frame;; inside = inside->around) {
    if (inside->surely_set.contains(cell)) return true;
    if (inside == &home || inside->around == nullptr) return false;
  }
}

}  // namespace fluidcore
