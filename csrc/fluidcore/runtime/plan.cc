#include "fluidcore/runtime/plan.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>

#include "fluidcore/base/threads.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/plan_builder.h"
#include "fluidcore/runtime/scope.h"

namespace fluidcore {

namespace {

// A variable of the scope while a Plan is bound to it.
struct Binding {
  std::shared_ptr<Variable> variable;  // null: the run will create it
  Tensor fresh;   // memory for a variable that has none of the right shape; committed at the end
  Tensor backup;  // what the variable held before the run
};

const void* end_of(const void* data, std::size_t bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

struct Plan::Impl {
  PlanRequest request;
  RunState state;
  PlanParts parts;
  std::vector<Binding> bindings;  // one for each scope cell
  std::weak_ptr<Scope> scope;     // the bindings are for this scope with this layout
  std::uint64_t layout = 0;
  std::size_t num_pointed = 0;  // bindings that this run has pointed to memory

  void bind(const std::shared_ptr<Scope>& to) {
    if (scope.lock() == to && layout == to->layout()) return;
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      bindings[i].variable = to->find_var(parts.scope_cells[i].name);
    }
    scope = to;
    layout = to->layout();
  }

  void point_to_scope() {
    num_pointed = 0;
    for (std::size_t i = 0; i < bindings.size(); ++i, ++num_pointed) {
      const ScopeCell& cell = parts.scope_cells[i];
      Binding& binding = bindings[i];
      const Tensor* held = binding.variable ? &binding.variable->tensor() : nullptr;
      if (held != nullptr && held->is_initialized() && held->spec() == cell.cell->spec) {
        if (cell.is_set != nullptr) *cell.is_set = true;
        cell.cell->data = held->raw();
        if (!cell.needs_backup) continue;
        if (!binding.backup.is_initialized()) binding.backup = Tensor(cell.cell->spec);
        copy_bytes(binding.backup.raw(), held->raw(), held->bytes());
      } else {
        binding.fresh = Tensor(cell.cell->spec);
        cell.cell->data = binding.fresh.raw();
      }
    }
  }

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
        copy_bytes(parts.scope_cells[i].cell->data, binding.backup.raw(), binding.backup.bytes());
      }
    }
  }

  void commit(Scope& to) {
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      Binding& binding = bindings[i];
      if (!binding.fresh.is_initialized()) continue;
      const bool* is_set = parts.scope_cells[i].is_set;
      if (is_set != nullptr && !*is_set) {
        binding.fresh = Tensor();
        continue;
      }
      if (!binding.variable) binding.variable = to.var(parts.scope_cells[i].name);
      binding.variable->tensor() = std::move(binding.fresh);
      binding.fresh = Tensor();
    }
  }

  void run_blocks() {
    for (const auto& sub_block : parts.sub_blocks) sub_block->restart();
    parts.main.run();
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
  impl_->request = std::move(request);
  const ThreadCountScope threads(impl_->request.threads);
  impl_->parts = PlanBuilder(program, impl_->request, scope, impl_->state).build(ops);
  impl_->bindings.resize(impl_->parts.scope_cells.size());
}

Plan::~Plan() = default;

bool Plan::fits(const std::shared_ptr<Scope>& scope) {
  impl_->bind(scope);
  for (std::size_t i = 0; i < impl_->bindings.size(); ++i) {
    const ScopeCell& cell = impl_->parts.scope_cells[i];
    if (!cell.is_read) continue;
    const auto& variable = impl_->bindings[i].variable;
    if (!variable || !(variable->tensor().spec() == cell.cell->spec)) return false;
    if (!variable->tensor().is_initialized()) return false;
  }
  return true;
}

std::vector<Tensor> Plan::run(const std::shared_ptr<Scope>& scope,
                              const NamedTensors& feeds,
                              const RunState& state) {
  std::vector<Tensor> results;
  run_into(results, scope, feeds, state);
  return results;
}

void Plan::run_into(std::vector<Tensor>& results,
                    const std::shared_ptr<Scope>& scope,
                    const NamedTensors& feeds,
                    const RunState& state) {
  Impl& impl = *impl_;
  const ThreadCountScope threads(impl.request.threads);
  impl.state = state;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    impl.parts.feeds[i]->data = feeds[i].second.raw();
  }
  // Before anything is written: where there is no memory for them, the scope stays as it is.
  results.resize(impl.parts.fetches.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorSpec& spec = impl.parts.fetches[i].cell->spec;
    const bool fits = results[i].is_initialized() && results[i].spec() == spec;
    if (!fits) results[i] = Tensor(spec);
  }
  std::vector<Tensor> copied_feeds;
  impl.parts.main.start();
  impl.num_pointed = 0;
  try {
    impl.bind(scope);
    impl.point_to_scope();
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      if (!impl.is_written(feeds[i].second)) continue;
      impl.parts.feeds[i]->data = copied_feeds.emplace_back(feeds[i].second.clone()).raw();
    }
    impl.run_blocks();
    for (std::size_t i = 0; i < results.size(); ++i) {
      copy_bytes(results[i].raw(), impl.parts.fetches[i].cell->data, results[i].bytes());
    }
  } catch (...) {
    impl.roll_back();
    throw;
  }
  impl.commit(*scope);
}

std::size_t Plan::num_steps() const {
  return impl_->parts.main.steps.size();
}

std::size_t Plan::arena_bytes() const {
  return impl_->parts.arena_bytes;
}

}  // namespace fluidcore
