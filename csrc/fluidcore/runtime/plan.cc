#include "fluidcore/runtime/plan.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/device_graphs.h"
#include "fluidcore/runtime/hold.h"
#include "fluidcore/runtime/plan_builder.h"
#include "fluidcore/runtime/scope.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

namespace {

// A variable of the scope while a Plan is bound to it.
struct Binding {
  std::shared_ptr<Variable> variable;  // null: the run will create it
  bool is_created = false;             // the run has, and takes it back when it fails
  Tensor fresh;   // memory for a variable that has none of the right shape; committed at the end
  Tensor backup;  // what the variable held before the run, or memory to write it anew
  std::uint64_t seen = 0;     // the variable's version in the last run; 0: none
  std::uint64_t version = 0;  // of the cell: how many were seen
};

Tensor new_tensor(const char* who,
                  const std::string& name,
                  const TensorSpec& spec,
                  const Device& device) {
  try {
    return Tensor(spec, device);
  } catch (const NoMemory& none) {
    throw Error(who, ": '", name, "' must fit in memory, got no memory for ", none.bytes(),
                " bytes");
  }
}

const void* end_of(const void* data, std::size_t bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}

void check_pass(const std::string& name) {
  const std::vector<std::string>& names = pass_names();
  require(std::ranges::find(names, name) != names.end(),
          "plan: a pass that is skipped must be one of ", join(names), ", got '", name, "'");
}

}  // namespace

void OtherExtents::report_changing(const Shape& before) const {
  InvalidArgument error(type_, ": must give the same extents in every step of a loop, got ", before,
                        " and ", extents_);
  error.set_note(note());
  throw error;
}

struct Plan::Impl {
  PlanRequest request;
  std::unique_ptr<DeviceContext> context;
  RunState state;
  Watch watch;
  PlanParts parts;
  std::optional<DeviceGraphs> graphs;  // null on the CPU
  std::vector<Binding> bindings;       // one for each scope cell
  std::vector<Tensor> feed_buffers;    // for what is fed from the host
  Wishes wishes;                       // for them
  std::weak_ptr<Scope> scope;          // the bindings are for this scope with this layout
  std::uint64_t layout = 0;
  std::size_t num_pointed = 0;  // bindings that this run has pointed to memory

  void bind(const std::shared_ptr<Scope>& to, const Holds::Lock& lock) {
    if (scope.lock() == to && layout == to->layout()) return;
    wishes.clear();
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      auto found = to->find_var(parts.scope_cells[i].name, lock);
      if (found != bindings[i].variable) bindings[i].seen = 0;
      bindings[i].variable = std::move(found);
      if (bindings[i].variable) wishes.push_back(wish(i));
    }
    scope = to;
    layout = to->layout();
  }

  Wish wish(std::size_t i) const {
    return {&bindings[i].variable->holdable(), parts.scope_cells[i].is_written};
  }

  bool fits(const Holds::Lock& /*lock*/) const {
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      const ScopeCell& cell = parts.scope_cells[i];
      if (!cell.is_read) continue;
      const std::shared_ptr<const Variable> variable = bindings[i].variable;
      if (!variable || !(variable->tensor().spec() == cell.cell->spec)) return false;
      if (!variable->tensor().is_initialized()) return false;
    }
    return true;
  }

  // So that all that the run writes is held from its beginning on.
  void create_missing(Hold& hold, Scope& to, const Holds::Lock& lock) {
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      if (bindings[i].variable) continue;
      bindings[i].variable = to.var(parts.scope_cells[i].name, lock);
      bindings[i].is_created = true;
      hold.add(wish(i));
    }
    layout = to.layout();
  }

  // Variables that the run has created and not written, because it failed or did not come there.
  void take_back(Scope& from) {
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      if (!std::exchange(bindings[i].is_created, false)) continue;
      const Holds::Lock lock = from.holds().lock();
      if (std::as_const(*bindings[i].variable).tensor().is_initialized()) continue;
      const std::string& name = parts.scope_cells[i].name;
      if (from.find_var(name, lock) == bindings[i].variable) from.erase(name, lock);
    }
  }

  void hold(Hold& hold, const std::shared_ptr<Scope>& of) {
    if (bindings.empty()) return;
    const Holds::Lock lock = hold.acquire(wishes, [&](const Holds::Lock& taken) {
      bind(of, taken);
      if (!fits(taken)) throw ScopeChanged();
    });
    create_missing(hold, *of, lock);
  }

  // Memory for work that is asked for from now on.
  Tensor allocate(const char* who, const std::string& name, const TensorSpec& spec) const {
    Tensor made = new_tensor(who, name, spec, request.device);
    context->begin();
    return made;
  }

  // Where a run on a device finds what it is fed from the host: at the same address every time.
  void* place_of_feed(std::size_t i, const std::string& name, const Tensor& fed) {
    const Device& device = request.device;
    if (fed.device() == device) return fed.raw();
    require(fed.device().is_cpu(), "feed: '", name, "' must be on ", device,
            ", where the program runs, got one on ", fed.device(), "; copy it to the cpu first");
    feed_buffers.resize(parts.feeds.size());
    Tensor& buffer = feed_buffers[i];
    if (!buffer.is_initialized()) buffer = allocate("feed", name, fed.spec());
    context->copy_in(buffer.raw(), fed.raw(), fed.bytes());
    return buffer.raw();
  }

  static std::uint64_t version_of(Binding& binding) {
    const Variable& variable = *binding.variable;
    if (variable.tensor().is_shared()) return binding.seen = 0;
    if (std::exchange(binding.seen, variable.version()) != variable.version()) ++binding.version;
    return binding.version;
  }

  void point_to_scope() {
    num_pointed = 0;
    for (std::size_t i = 0; i < bindings.size(); ++i, ++num_pointed) {
      const ScopeCell& cell = parts.scope_cells[i];
      Binding& binding = bindings[i];
      const Tensor& held = std::as_const(*binding.variable).tensor();
      if (cell.is_written) binding.variable->touch();
      if (cell.cell->is_constant) cell.cell->version = version_of(binding);
      const bool is_here = held.device() == request.device;
      require(is_here || !cell.is_read, "scope: '", cell.name, "' must be on ", request.device,
              ", where the program runs, got one on ", held.device(), "; write scope.to(place)");
      if (held.is_initialized() && held.spec() == cell.cell->spec && is_here) {
        if (cell.is_set != nullptr) *cell.is_set = true;
        cell.cell->data = held.raw();
        if (!cell.needs_backup) continue;
        if (!binding.backup.is_initialized() || binding.backup.is_shared()) {
          binding.backup = allocate("scope", cell.name, cell.cell->spec);
        }
        if (is_replaced(cell) && !held.is_shared()) {
          binding.fresh = std::exchange(binding.backup, Tensor());
          cell.cell->data = binding.fresh.raw();
        } else {
          context->copy(binding.backup.raw(), held.raw(), held.bytes());
        }
      } else {
        binding.fresh = allocate("scope", cell.name, cell.cell->spec);
        cell.cell->data = binding.fresh.raw();
      }
    }
  }

  // A variable that the run writes whatever happens, and does not read: where the old value must
  // outlive a failure, the new one is written beside it, unless a view is to see it.
  static bool is_replaced(const ScopeCell& cell) { return !cell.is_read && cell.is_set == nullptr; }

  // True when `fed` is a view of a variable of the scope that the run writes.
  bool is_written(const Tensor& fed) const {
    const std::less<const void*> before;
    return std::any_of(parts.scope_cells.begin(), parts.scope_cells.end(),
                       [&](const ScopeCell& cell) {
                         const void* data = cell.cell->data;
                         return cell.is_written && before(data, end_of(fed.raw(), fed.bytes())) &&
                                before(fed.raw(), end_of(data, cell.bytes));
                       });
  }

  void roll_back() {
    for (std::size_t i = 0; i < num_pointed; ++i) {
      Binding& binding = bindings[i];
      if (binding.fresh.is_initialized()) {
        binding.fresh = Tensor();
      } else if (parts.scope_cells[i].needs_backup) {
        context->copy(parts.scope_cells[i].cell->data, binding.backup.raw(),
                      binding.backup.bytes());
      }
    }
  }

  void commit(Scope& to) {
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      Binding& binding = bindings[i];
      const ScopeCell& cell = parts.scope_cells[i];
      if (!binding.fresh.is_initialized()) continue;
      if (cell.is_set != nullptr && !*cell.is_set) {
        binding.fresh = Tensor();
        continue;
      }
      Tensor old = std::exchange(binding.fresh, Tensor());
      {
        const Holds::Lock lock = to.holds().lock();
        std::swap(binding.variable->tensor(), old);
      }
      // Kept, or freed, when others may go on.
      const bool fits = old.is_initialized() && old.spec() == cell.cell->spec;
      if (fits && cell.needs_backup && is_replaced(cell)) binding.backup = std::move(old);
    }
  }

  std::string place_of(const Cell& cell) const;  // in words

  void run_blocks() {
    for (const auto& sub_block : parts.sub_blocks) sub_block->restart();
    // Between the steps nobody looks, and each kernel is launched once.
    const bool is_plain = !watch.check_nan && !watch.waits && !watch.recorder.is_on();
    if (graphs && is_plain) {
      graphs->run();
    } else {
      parts.main.run();
    }
    for (const FetchCell& fetch : parts.fetches) {
      require(fetch.is_set == nullptr || *fetch.is_set, "fetch: '", fetch.name,
              "' must be written before it is read, got a block that was not run, or did not ",
              "write it; write it before the block too");
    }
  }
};

Plan::Plan(const OpRegistry& ops,
           const ProgramDesc& program,
           PlanRequest request,
           const Scope& scope)
    : impl_(std::make_unique<Impl>()) {
  for (const std::string& pass : request.skipped_passes) check_pass(pass);
  impl_->request = std::move(request);
  impl_->context = device_context(impl_->request.device).fork();
  const ThreadCountScope threads(impl_->request.threads);
  impl_->watch.check_nan = impl_->request.check_nan;
  impl_->watch.device = impl_->context.get();
  impl_->watch.waits = impl_->request.waits;
  const auto build = [&](const PlanRequest& what) {
    return PlanBuilder(program, what, scope, impl_->state, impl_->watch).build(ops);
  };
  try {
    impl_->parts = build(impl_->request);
  } catch (const InvalidArgument&) {
    // A message is about the program as it was written, without what passes made of it.
    PlanRequest plain = impl_->request;
    plain.skipped_passes = pass_names();
    impl_->parts = build(plain);
  }
  impl_->bindings.resize(impl_->parts.scope_cells.size());
  if (!impl_->request.device.is_cpu()) {
    impl_->graphs.emplace(impl_->parts.main, impl_->parts.cells);
  }
}

Plan::~Plan() = default;

bool Plan::fits(const std::shared_ptr<Scope>& scope) {
  if (impl_->bindings.empty()) return true;
  const Holds::Lock lock = scope->holds().lock();
  impl_->bind(scope, lock);
  return impl_->fits(lock);
}

std::vector<Tensor> Plan::run(const std::shared_ptr<Scope>& scope,
                              const NamedTensors& feeds,
                              const RunState& state,
                              Interruption* interruption,
                              Profile* profile) {
  std::vector<Tensor> results;
  run_into(results, scope, feeds, state, interruption, profile);
  return results;
}

void Plan::run_into(std::vector<Tensor>& results,
                    const std::shared_ptr<Scope>& scope,
                    const NamedTensors& feeds,
                    const RunState& state,
                    Interruption* interruption,
                    Profile* profile) {
  Impl& impl = *impl_;
  const ThreadCountScope threads(impl.request.threads);
  impl.state = state;
  impl.watch.lookout.begin(interruption);
  impl.watch.recorder.begin(profile);
  impl.context->begin();
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const auto& [name, fed] = feeds[i];
    impl.parts.feeds[i]->data = impl.place_of_feed(i, name, fed);
    impl.parts.feeds[i]->fed_from = fed.device().is_cpu() ? fed.raw() : nullptr;
  }
  // Before anything is written: where there is no memory for them, the scope stays as it is.
  results.resize(impl.parts.fetches.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorSpec& spec = impl.parts.fetches[i].cell->spec;
    const bool fits = results[i].is_initialized() && results[i].spec() == spec &&
                      results[i].device() == impl.request.device;
    if (!fits) results[i] = impl.allocate("fetch", impl.parts.fetches[i].name, spec);
    impl.parts.fetches[i].in_result.set(results[i].raw());
  }
  std::vector<Tensor> copied_feeds;
  impl.parts.main.start();
  impl.num_pointed = 0;
  Hold hold(scope->holds(), interruption, "run");
  try {
    impl.hold(hold, scope);
    impl.point_to_scope();
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      if (!impl.is_written(feeds[i].second)) continue;
      impl.parts.feeds[i]->data = copied_feeds.emplace_back(feeds[i].second.clone()).raw();
      impl.context->begin();
    }
    impl.run_blocks();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const FetchCell& fetch = impl.parts.fetches[i];
      if (fetch.in_result) continue;
      impl.context->copy(results[i].raw(), fetch.cell->data, results[i].bytes());
    }
    impl.context->end();
  } catch (...) {
    impl.roll_back();
    impl.context->end();
    impl.take_back(*scope);
    throw;
  }
  impl.commit(*scope);
  impl.take_back(*scope);
}

std::string Plan::Impl::place_of(const Cell& cell) const {
  const auto* const arena = static_cast<const std::byte*>(parts.arena.get());
  const auto* const data = static_cast<const std::byte*>(cell.data);
  const auto is_it = [&](const auto& other) { return other.cell == &cell; };
  if (cell.array != nullptr) return "an array";
  if (std::ranges::any_of(parts.scope_cells, is_it)) return "in the scope";
  if (std::ranges::any_of(
          parts.fetches, [&](const FetchCell& fetch) { return is_it(fetch) && fetch.in_result; })) {
    return "in the result";
  }
  const std::less<> before;
  const bool is_temporary = !before(data, arena) && before(data, arena + parts.arena_bytes);
  return is_temporary ? str_cat("at ", data - arena) : "where it is handed on";
}

std::string Plan::listing() const {
  std::string text;
  const auto add = [&](const PreparedBlock& block) {
    for (const PreparedStep& step : block.steps) {
      const std::string& name = step.name.empty() ? step.type : step.name;
      text += str_cat("  ", name, ": ", step.count > 1 ? str_cat(step.count, " from ") : "",
                      step.note, "\n");
      for (const auto& [output, cell] : step.outputs) {
        text += str_cat("    ", output, " ", cell->spec, ", ", impl_->place_of(*cell), "\n");
      }
    }
  };
  text += "block 0:\n";
  add(impl_->parts.main);
  for (const auto& sub_block : impl_->parts.sub_blocks) {
    text += str_cat("block ", sub_block->block_idx(), ":\n");
    add(sub_block->block());
  }
  return text + str_cat("temporaries: ", arena_bytes(), " bytes\n");
}

std::size_t Plan::num_steps() const {
  return impl_->parts.main.steps.size();
}

double Plan::work() const {
  return static_cast<double>(impl_->watch.lookout.work());
}

std::size_t Plan::arena_bytes() const {
  return impl_->parts.arena_bytes;
}

std::size_t Plan::backup_bytes() const {
  std::size_t bytes = 0;
  for (const ScopeCell& cell : impl_->parts.scope_cells) {
    if (cell.needs_backup) bytes += cell.bytes;
  }
  return bytes;
}

}  // namespace fluidcore
