#include "fluidcore/runtime/plan_builder.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/runtime/kernel_on_host.h"
#include "fluidcore/runtime/passes/channels_last.h"
#include "fluidcore/runtime/passes/prune.h"
#include "fluidcore/runtime/passes/steps_of_program.h"
#include "fluidcore/runtime/scope.h"

namespace fluidcore {

namespace {

std::string did_you_mean(std::string_view name, const BlockDesc& block, bool data_only) {
  std::vector<std::string> known;
  for (const auto& var : block.vars()) {
    if (!data_only || var->is_data()) known.push_back(var->name());
  }
  const std::string near = nearest(name, known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

[[noreturn]] void report_unknown_fetch(const ProgramDesc& program, const std::string& name) {
  for (std::int64_t i = 1; i < static_cast<std::int64_t>(program.num_blocks()); ++i) {
    if (!program.block(i).find_var(name)) continue;
    throw NotFound("fetch: '", name, "' must be a variable of block 0, got one of block ", i,
                   ", which lives for one run of that block; assign it to a variable of block 0");
  }
  throw NotFound("fetch: no variable '", name, "' in the program",
                 did_you_mean(name, program.block(0), false));
}

PreparedStep throwing_step(const Step& step, std::exception_ptr error) {
  PreparedStep prepared;
  prepared.kernel = [error = std::move(error)] { std::rethrow_exception(error); };
  prepared.type = step.op.type();
  prepared.note = describe(step);
  return prepared;
}

template <class F>
void each_cell(const KernelContext::Slots& slots, const F& f) {
  for (const auto& [slot, cells] : slots) {
    for (const Cell* cell : cells) {
      if (cell != nullptr && cell->spec.shape.is_known()) f(*cell);
    }
  }
}

// The bytes that are read and written; of an array, one element. An operator on selected rows reads
// and writes no more rows than these of what it changes in place.
std::int64_t work_of(const KernelContext::Slots& inputs, const KernelContext::Slots& outputs) {
  std::set<const Cell*> read;
  std::int64_t rows = 0;
  each_cell(inputs, [&](const Cell& cell) {
    read.insert(&cell);
    rows += cell.spec.rows.value_or(0);
  });
  std::int64_t work = 0;
  const auto add = [&](const Cell& cell) {
    work += static_cast<std::int64_t>(byte_size(cell.spec));
  };
  each_cell(inputs, add);
  each_cell(outputs, [&](const Cell& cell) {
    add(cell);
    if (rows == 0 || !read.contains(&cell) || cell.spec.shape.rank() == 0) return;
    TensorSpec untouched = cell.spec;
    untouched.shape[0] = std::max<std::int64_t>(untouched.shape[0] - rows, 0);
    work -= 2 * static_cast<std::int64_t>(byte_size(untouched));
  });
  return work;
}

std::set<std::string> all_writes(const Steps& steps) {
  std::set<std::string> names;
  for (const Step& step : steps) {
    for (std::string& name : writes(step)) names.insert(std::move(name));
    if (step.body) names.insert(step.body->writes.begin(), step.body->writes.end());
  }
  return names;
}

// True for an input of an operator with a block that the block overwrites, unless the operator
// wants to see that, as it does of a condition.
bool is_overwritten_inside(const Step& step, const OpDef::Slot& slot, const std::string& name) {
  return step.body && step.body->writes.contains(name) && !slot.traits.live &&
         !step.def->reads_only_shape(step.op, slot);
}

// Extents that depend on the data and were not met yet.
void make_first_guess(TensorSpec& spec) {
  Shape& shape = spec.shape;
  for (std::size_t d = 0; d < shape.rank(); ++d) shape[d] = std::max<std::int64_t>(shape[d], 0);
  if (spec.rows) spec.rows = std::max<std::int64_t>(*spec.rows, 0);
}

[[noreturn]] void report_not_fed(const Step& step) {
  const std::string name = writes(step).at(0);
  throw InvalidArgument(step.op.type(), ": '", name, "' must be fed, got no value; pass feed={'",
                        name, "': ...}");
}

}  // namespace

PlanBuilder::PlanBuilder(const ProgramDesc& program,
                         const PlanRequest& request,
                         const Scope& scope,
                         const RunState& state,
                         Watch& watch)
    : program_(program),
      request_(request),
      state_(state),
      watch_(watch),
      frames_(program, parts_.main),
      cells_(parts_, request.device.is_cpu() ? nullptr : watch.device),
      variables_(frames_, cells_, scope) {
  parts_.scratch = std::make_shared<Scratch>(device());
}

PlanParts PlanBuilder::build(const OpRegistry& ops) {
  Steps steps = prune(without_feeds(steps_of_program(program_, ops)), request_.fetches);
  // A search for NaN names the variable, so it must see those of the program.
  if (!request_.check_nan && !skips(kChannelsLast) && request_.device.is_cpu()) {
    steps = channels_last(std::move(steps), program_.block(0), ops, request_.fetches);
  }
  cells_.set_written(all_writes(steps));
  add_feeds();
  Frame& main = frames_.main();
  main.prepared.watch = &watch_;
  prepare_steps(main, steps, state_);
  if (!main.is_cut) {
    for (const std::string& name : request_.fetches) parts_.fetches.push_back(fetched(name));
  }
  run_passes(main);
  mark_backups();
  place_temporaries();
  return std::move(parts_);
}

// Without the steps that stand for what is fed.
Steps PlanBuilder::without_feeds(Steps steps) const {
  const auto is_fed = [&](const std::string& name) {
    return std::ranges::any_of(request_.feeds,
                               [&](const auto& feed) { return feed.first == name; });
  };
  std::erase_if(steps, [&](const Step& step) {
    return step.def->is_feed() && std::ranges::all_of(writes(step), is_fed);
  });
  return steps;
}

void PlanBuilder::add_feeds() {
  const BlockDesc& block = program_.block(0);
  for (const auto& [name, spec] : request_.feeds) {
    const auto var = block.find_var(name);
    if (!var) {
      throw NotFound("feed: no variable '", name, "' in the program",
                     did_you_mean(name, block, true));
    }
    require(var->type() == VarType::kTensor, "feed: '", name, "' must be a tensor, got ",
            described(var->type()));
    require(var->dtype() == spec.dtype, "feed: '", name, "' must be ", var->dtype(), ", got ",
            spec.dtype, "; write ", name, ".astype('", var->dtype(), "')");
    require(compatible(var->shape(), spec.shape), "feed: '", name, "' must have the shape ",
            var->shape(), " (-1: any size), got ", spec.shape);
    Cell* cell = cells_.elsewhere(spec);
    cell->is_fed = true;
    frames_.main().current[name] = cell;
    parts_.feeds.push_back(cell);
  }
}

// An extent that depends on the data is a guess, the one of the run before at best, and what
// follows from it may be impossible: such an error is for the run to throw, after the operator
// whose extent it is has had a look at the data.
void PlanBuilder::prepare_steps(Frame& frame, const Steps& steps, const RunState& state) {
  frame.changes = changes_of_arrays(steps);
  for (const Step& step : steps) {
    try {
      frame.prepared.steps.push_back(prepare(frame, step, state));
    } catch (Error& error) {
      if (error.note().empty()) error.set_note(describe(step));
      if (!has_guessed_) throw;
      frame.prepared.steps.push_back(throwing_step(step, std::current_exception()));
      frame.is_cut = true;
      end_of_throwing_ = frames_.main().position + 1;
      return;
    }
    ++frame.position;
  }
}

PreparedStep PlanBuilder::prepare(Frame& frame, const Step& step, const RunState& state) {
  if (step.def->is_feed()) report_not_fed(step);
  Draft draft{frame, step, state, {}, {}, {}, {}};
  draft.prepared.type = step.op.type();
  draft.prepared.note = describe(step);
  draft.prepared.block = step.block;
  draft.prepared.index = step.index;
  if (step.body) variables_.open_to_block(frame, *step.body, draft.surroundings);
  InferContext infer = read_inputs(draft);
  const std::optional<Shape> extents = extents_from_data(step);
  infer.set_extents_from_data(extents);
  if (step.body) prepare_block(draft, infer);
  step.def->infer(infer);
  write_outputs(draft, infer);
  const bool may_throw =
      step.def->may_throw() || step.def->has_extents_from_data(step.op) || request_.check_nan;
  if (may_throw || !draft.surroundings.checks.empty()) {
    end_of_throwing_ = frames_.main().position + 1;
  }
  // A startup program and its main program often have one seed: what initializes variables of the
  // scope draws from streams of its own.
  const std::uint64_t stream = 2 * step.index + (step.outlives_run() ? 1 : 0);
  const DType dtype = step.def->kernel_dtype(infer);
  draft.prepared.runs_block = step.body != nullptr;
  draft.prepared.views = draft.surroundings.views;
  if (draft.has_views && !draft.has_results) {
    draft.prepared.kernel = draft.surroundings.around(Kernel(), device());
    return std::move(draft.prepared);
  }
  draft.prepared.work = work_of(draft.inputs, draft.outputs);
  draft.prepared.flops = step.def->flops(infer);
  const KernelContext context(*step.def, step.op, std::move(draft.inputs), std::move(draft.outputs),
                              dtype, state, stream, draft.sub_block, extents, parts_.scratch,
                              device());
  const std::size_t scratch = parts_.scratch->bytes();
  draft.prepared.kernel = draft.surroundings.around(kernel(draft, context), device());
  if (parts_.scratch->bytes() > scratch) {
    most_scratch_.type = draft.prepared.type;
    most_scratch_.note = draft.prepared.note;
  }
  return std::move(draft.prepared);
}

Kernel PlanBuilder::kernel(Draft& draft, const KernelContext& context) const {
  const OpDef& def = context.def();
  const DeviceKind kind = request_.device.kind;
  const bool is_there = def.kernels().contains({kind, context.dtype()});
  if (is_there || !request_.allow_cpu_fallback) {
    Kernel kernel = def.kernel(kind, context.dtype())(context);
    if (!kernel.is_empty() || request_.device.is_cpu()) return kernel;
    require(request_.allow_cpu_fallback, def.type(), ": no kernel on ", request_.device,
            " for these attributes and variables; write allow_cpu_fallback=True");
  }
  draft.prepared.name = str_cat(def.type(), " on the cpu");
  return kernel_on_host(context);
}

InferContext PlanBuilder::read_inputs(Draft& draft) {
  const Step& step = draft.step;
  InferContext::Slots inputs;
  for (const auto& [slot, names] : step.op.inputs()) {
    const OpDef::Slot& declared = *step.def->find_input(slot);
    if (declared.traits.of_block) continue;
    for (const std::string& name : names) {
      if (name == kEmptyName) continue;
      const Cell* cell = variables_.read(draft.frame, step, declared, name, draft.surroundings);
      if (is_overwritten_inside(step, declared, name)) cell = copy_before(draft, cell);
      draft.inputs[slot].push_back(cell);
      inputs[slot].push_back(cell->spec);
    }
  }
  InferContext::Slots outputs;
  for (const auto& [slot, names] : step.op.outputs()) {
    outputs[slot].resize(names.size());
    draft.outputs[slot].resize(names.size());
  }
  return {step.op, std::move(inputs), std::move(outputs)};
}

// The operator still reads what it was given when its block has written something else there.
const Cell* PlanBuilder::copy_before(Draft& draft, const Cell* cell) {
  const Cell* copy = cells_.temporary(draft.frame, cell->spec);
  draft.surroundings.before.push_back({cell, copy, byte_size(cell->spec)});
  return copy;
}

void PlanBuilder::prepare_block(Draft& draft, InferContext& infer) {
  const Step& step = draft.step;
  const Body& body = *step.body;
  SubBlockRunner& runner = *parts_.sub_blocks.emplace_back(
      std::make_unique<SubBlockRunner>(step.op.type(), body.block->idx(), state_));
  draft.sub_block = &runner;
  runner.block().watch = &watch_;
  Frame& inside = frames_.enter(draft.frame, body, runner.block());
  infer.set_block_variables([this, &inside, type = step.op.type()](const std::string& name) {
    return frames_.spec_of(inside, type, name);
  });
  if (const auto& given = step.def->block_traits()->given) {
    for (auto& [name, spec] : given(infer)) {
      runner.add_given(name, variables_.give(inside, step.op.type(), name, std::move(spec)));
    }
  }
  draft.frame.running = &body;
  draft.frame.repeats = step.def->block_traits()->repeats;
  prepare_steps(inside, body.steps, runner.state());
  draft.frame.running = nullptr;
  for (const auto& [of, constant] : std::exchange(draft.frame.constants, {})) {
    draft.surroundings.constants.push_back({constant, of});
  }
  if (inside.is_cut) variables_.stand_in_for_unwritten(inside, body);
  add_results(draft, inside);
  place_next_elements(inside);
  run_passes(inside);
  inside.close();
}

void PlanBuilder::add_results(Draft& draft, Frame& inside) {
  const std::string& type = draft.step.op.type();
  for (const std::string& name : draft.step.body->results) {
    const FetchCell result = variables_.newest(inside, name);
    if (result.cell == nullptr && inside.is_cut) continue;
    require(result.cell != nullptr, type, ": '", name, "' must be written in block ",
            inside.block.idx(), ", which the operator runs, got no operator that writes it");
    require(result.cell->array == nullptr, type, ": '", name, "' of block ", inside.block.idx(),
            " must be a tensor, got a tensor array");
    draft.sub_block->add_result(name, result.cell);
    if (result.is_set == nullptr) {
      if (!draft.step.def->block_traits()->places_results) continue;
      if (Place place = inside.take_out(result.cell)) draft.sub_block->add_place(name, place);
      continue;
    }
    end_of_throwing_ = frames_.main().position + 1;
    draft.sub_block->add_check([type, name, is_set = result.is_set] {
      require(*is_set, type, ": '", name, "' must be written in every step, got a step that ",
              "did not write it");
    });
  }
}

void PlanBuilder::write_outputs(Draft& draft, const InferContext& infer) {
  infer.each_output([&](const std::string& slot, std::size_t index) {
    const OpDef::Slot& declared = *draft.step.def->find_output(slot);
    if (declared.traits.of_block) return;
    TensorSpec spec = infer.output(slot, index);
    if (!declared.traits.array && is_view(draft, infer, slot, index)) return;
    draft.has_results = true;
    const std::string& name = draft.step.op.output(slot)[index];
    if (draft.step.def->has_extents_from_data(draft.step.op)) make_first_guess(spec);
    require(is_known(spec) || declared.traits.array, draft.step.op.type(), ": ", slot,
            " must have a known shape when the program runs, got ", spec);
    Cell* cell =
        variables_.write(draft.frame, draft.step, declared, name, spec, draft.surroundings);
    draft.outputs[slot][index] = cell;
    if (declared.traits.array) add_next_element(draft, slot, cell);
    draft.prepared.outputs.push_back({name, cell});
  });
}

std::optional<Shape> PlanBuilder::extents_from_data(const Step& step) {
  if (!step.def->has_extents_from_data(step.op)) return std::nullopt;
  has_guessed_ = true;
  const auto met = request_.extents.find({step.block, step.index});
  return met == request_.extents.end() ? std::nullopt : std::optional(met->second);
}

FetchCell PlanBuilder::fetched(const std::string& name) {
  const BlockDesc& block = program_.block(0);
  const auto var = block.find_var(name);
  require(!var || var->type() != VarType::kTensorArray, "fetch: '", name,
          "' must be a tensor, got a tensor array; fetch an element that is read from it");
  const FetchCell found = variables_.newest(frames_.main(), name);
  if (found.cell == nullptr) {
    if (!var) report_unknown_fetch(program_, name);
    frames_.report_unwritten(frames_.main(), "fetch:", name);
  }
  require(found.cell->array == nullptr, "fetch: '", name, "' must be a tensor, got a tensor array");
  if (found.is_set != nullptr) end_of_throwing_ = frames_.main().position;
  return found;
}

}  // namespace fluidcore
