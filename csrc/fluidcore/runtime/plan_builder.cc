#include "fluidcore/runtime/plan_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/runtime/passes/prune.h"
#include "fluidcore/runtime/scope.h"

namespace fluidcore {

namespace {

std::vector<std::string> variable_names(const BlockDesc& block, bool data_only) {
  std::vector<std::string> names;
  for (const auto& var : block.vars()) {
    if (!data_only || var->is_data()) names.push_back(var->name());
  }
  return names;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

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

}  // namespace

PlanBuilder::PlanBuilder(const ProgramDesc& program,
                         const PlanRequest& request,
                         const Scope& scope,
                         const RunState& state)
    : program_(program), request_(request), scope_(scope), state_(state) {
}

PlanParts PlanBuilder::build(const OpRegistry& ops) {
  check_feeds();
  const Steps steps = prune(steps_of_block(ops), request_.fetches,
                            [this](const std::string& name) { return is_persistable(name); });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    try {
      add_step(steps[i], i);
    } catch (Error& error) {
      if (error.note().empty()) error.set_note(describe(steps[i]));
      throw;
    }
  }
  for (const std::string& name : request_.fetches) {
    parts_.fetches.push_back(fetched(name, steps.size()));
  }
  mark_backups(steps);
  place_temporaries();
  return std::move(parts_);
}

void PlanBuilder::check_feeds() {
  const BlockDesc& block = program_.block(0);
  for (const auto& [name, spec] : request_.feeds) {
    const auto var = block.find_var(name);
    if (!var) {
      throw NotFound("feed: no variable '", name, "' in the program",
                     did_you_mean(name, variable_names(block, true)));
    }
    require(var->dtype() == spec.dtype, "feed: '", name, "' must be ", var->dtype(), ", got ",
            spec.dtype, "; write ", name, ".astype('", var->dtype(), "')");
    require(compatible(var->shape(), spec.shape), "feed: '", name, "' must have the shape ",
            var->shape(), " (-1: any size), got ", spec.shape);
    Cell* cell = new_cell(spec, {.owner = Owner::kFeed});
    current_[name] = cell;
    parts_.feeds.push_back(cell);
  }
}

Steps PlanBuilder::steps_of_block(const OpRegistry& ops) const {
  Steps steps;
  const auto& block = program_.block(0);
  for (std::size_t i = 0; i < block.ops().size(); ++i) {
    Step step{*block.ops()[i], nullptr, i};
    try {
      step.def = &ops.get(step.op.type());
      step.def->complete(step.op);
    } catch (Error& error) {
      error.set_note(describe(step));
      throw;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

void PlanBuilder::add_step(const Step& step, std::size_t position) {
  KernelContext::Slots inputs;
  InferContext::Slots input_specs;
  for (const auto& [slot, names] : step.op.inputs()) {
    const OpDef::Slot* declared = step.def->find_input(slot);
    for (const std::string& name : names) {
      if (name == kEmptyName) continue;
      Cell* cell = read(step, slot, name);
      if (!declared->traits.shape_only) uses_[cell].last = position;
      inputs[slot].push_back(cell);
      input_specs[slot].push_back(cell->spec);
    }
  }
  InferContext::Slots output_specs;
  for (const auto& [slot, names] : step.op.outputs()) output_specs[slot].resize(names.size());
  InferContext infer(step.op, std::move(input_specs), std::move(output_specs));
  step.def->infer(infer);

  PreparedStep prepared;
  KernelContext::Slots outputs;
  std::vector<CopyBack> copies;
  for (const auto& [slot, names] : step.op.outputs()) outputs[slot].resize(names.size());
  infer.each_output([&](const std::string& slot, std::size_t index) {
    const TensorSpec& spec = infer.output(slot, index);
    const std::string& name = step.op.output(slot)[index];
    require(spec.shape.is_known(), step.op.type(), ": ", slot,
            " must have a known shape when the program runs, got ", spec.shape);
    Cell* cell = write(step, slot, name, spec, position, copies);
    outputs[slot][index] = cell;
    if (is_floating(spec.dtype)) {
      prepared.written.push_back(cell);
      prepared.written_names.push_back(name);
    }
  });
  const DType dtype = step.def->kernel_dtype(infer);
  // A startup program and its main program often have one seed: what initializes variables of the
  // scope draws from streams of its own.
  const std::vector<std::string> written = step.op.output_arg_names();
  const bool initializes = std::any_of(written.begin(), written.end(),
                                       [&](const auto& name) { return is_persistable(name); });
  const KernelContext context(step.op, std::move(inputs), std::move(outputs), dtype, state_,
                              2 * step.index + (initializes ? 1 : 0));
  prepared.kernel = step.def->kernel(request_.device, dtype)(context);
  if (!copies.empty()) {
    prepared.kernel = [kernel = std::move(prepared.kernel), copies] {
      kernel();
      for (const CopyBack& copy : copies) {
        std::memcpy(copy.to->data, copy.from->data, copy.bytes);
      }
    };
  }
  prepared.type = step.op.type();
  prepared.note = describe(step);
  parts_.steps.push_back(std::move(prepared));
}

Cell* PlanBuilder::read(const Step& step, const std::string& slot, const std::string& name) {
  if (const auto it = current_.find(name); it != current_.end()) return it->second;
  if (Cell* cell = from_scope(name)) return cell;
  report_unwritten(str_cat(step.op.type(), ": ", slot), name);
}

Cell* PlanBuilder::write(const Step& step,
                         const std::string& slot,
                         const std::string& name,
                         const TensorSpec& spec,
                         std::size_t position,
                         std::vector<CopyBack>& copies) {
  const auto found = current_.find(name);
  Cell* old = found == current_.end() ? nullptr : found->second;
  const Use* use = old == nullptr ? nullptr : &uses_.at(old);
  const bool persistable = is_persistable(name);
  require(!persistable || use == nullptr || use->owner != Owner::kFeed, step.op.type(), ": ", slot,
          " '", name, "' lives in the scope and is written here, so it cannot be fed; ",
          "set it in the scope instead");

  const bool overwrites_input = old != nullptr && reads(step.op, name);
  const bool in_place = overwrites_input && old->spec == spec && is_in_place(step, slot, name);
  if (!persistable) {
    if (in_place && use->owner == Owner::kArena) {
      uses_[old].last = position;
      return old;
    }
    return current_[name] =
               new_cell(spec, {.owner = Owner::kArena, .first = position, .last = position});
  }
  if (old == nullptr) old = current_[name] = scope_cell(name, spec, true);
  require(old->spec == spec, step.op.type(), ": ", slot, " '", name,
          "' must keep its shape in the ", "scope, ", old->spec, ", got ", spec);
  ScopeCell& kept = parts_.scope_cells[uses_.at(old).scope_cell];
  if (!std::exchange(kept.is_written, true)) kept.first_write = position;
  if (!overwrites_input || in_place) return old;
  Cell* copy = new_cell(spec, {.owner = Owner::kArena, .first = position, .last = position});
  copies.push_back({copy, old, uses_.at(old).bytes});
  return copy;
}

Cell* PlanBuilder::new_cell(TensorSpec spec, Use use) {
  use.bytes = byte_size(spec);
  Cell* cell = &parts_.cells.emplace_back(Cell{std::move(spec), nullptr});
  uses_.emplace(cell, use);
  return cell;
}

Cell* PlanBuilder::scope_cell(const std::string& name, TensorSpec spec, bool persistable) {
  Cell* cell =
      new_cell(std::move(spec), {.owner = persistable ? Owner::kScope : Owner::kReadOnlyScope,
                                 .scope_cell = parts_.scope_cells.size()});
  parts_.scope_cells.push_back({.name = name, .cell = cell, .bytes = uses_.at(cell).bytes});
  return cell;
}

Cell* PlanBuilder::from_scope(const std::string& name) {
  const auto variable = scope_.find_var(name);
  if (!variable || !variable->tensor().is_initialized()) return nullptr;
  const TensorSpec& spec = variable->tensor().spec();
  if (const auto var = program_.block(0).find_var(name)) {
    require(var->dtype() == spec.dtype && compatible(var->shape(), spec.shape), "'", name,
            "' in the scope must be as the program declares it, ", var->spec(), ", got ", spec);
  }
  Cell* cell = scope_cell(name, spec, is_persistable(name));
  parts_.scope_cells.back().is_read = true;
  return current_[name] = cell;
}

void PlanBuilder::report_unwritten(const std::string& who, const std::string& name) const {
  const auto var = program_.block(0).find_var(name);
  if (var && var->is_data()) {
    throw InvalidArgument(who, " '", name, "' must be fed, got no value; pass feed={'", name,
                          "': ...}");
  }
  if (var && var->persistable()) {
    throw InvalidArgument(who, " '", name, "' must be initialized, got no value in the scope; ",
                          "run the startup program first");
  }
  throw InvalidArgument(who, " '", name, "' must be written before it is read, ",
                        "got no operator before that writes it");
}

const Cell* PlanBuilder::fetched(const std::string& name, std::size_t end) {
  const auto it = current_.find(name);
  if (it != current_.end()) {
    uses_[it->second].last = end;
    return it->second;
  }
  if (const Cell* cell = from_scope(name)) return cell;
  const BlockDesc& block = program_.block(0);
  if (!block.find_var(name)) {
    throw NotFound("fetch: no variable '", name, "' in the program",
                   did_you_mean(name, variable_names(block, false)));
  }
  report_unwritten("fetch:", name);
}

// A run that fails must leave the scope as it was: what is written before or by a step that may
// still throw is saved first.
void PlanBuilder::mark_backups(const Steps& steps) {
  std::size_t end = 0;  // no step from here on throws
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (request_.check_nan || steps[i].def->may_throw()) end = i + 1;
  }
  for (ScopeCell& cell : parts_.scope_cells) {
    cell.needs_backup = cell.is_written && cell.first_write < end;
  }
}

void PlanBuilder::place_temporaries() {
  std::vector<Cell*> temporaries;
  std::vector<Lifetime> lifetimes;
  for (Cell& cell : parts_.cells) {
    const Use& use = uses_.at(&cell);
    if (use.owner != Owner::kArena) continue;
    temporaries.push_back(&cell);
    lifetimes.push_back({use.bytes, use.first, use.last});
  }
  const ArenaLayout layout = lay_out(lifetimes);
  parts_.arena = allocate(layout.bytes);
  parts_.arena_bytes = layout.bytes;
  auto* base = static_cast<std::byte*>(parts_.arena.get());
  for (std::size_t i = 0; i < temporaries.size(); ++i) {
    temporaries[i]->data = base + layout.offsets[i];
  }
}

bool PlanBuilder::is_persistable(const std::string& name) const {
  const auto var = program_.block(0).find_var(name);
  return var && var->persistable();
}

}  // namespace fluidcore
