#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/passes/arena.h"
#include "fluidcore/runtime/passes/step.h"
#include "fluidcore/runtime/plan.h"

namespace fluidcore {

// A variable of a Plan that lives in the Scope.
struct ScopeCell {
  std::string name;
  Cell* cell = nullptr;
  std::size_t bytes = 0;
  bool is_read = false;  // its value before the run matters: it must be initialized
  bool is_written = false;
  std::size_t first_write = 0;  // by which step
  bool needs_backup = false;    // an operator may still throw after it was written
};

// What one step does when the Plan runs.
struct PreparedStep {
  Kernel kernel;
  std::string type;                  // of the operator
  std::string note;                  // names the operator in messages
  std::vector<const Cell*> written;  // floating outputs, for the search for NaN
  std::vector<std::string> written_names;
};

// Everything a Plan needs in order to run. Cells do not move: kernels hold their addresses.
struct PlanParts {
  std::deque<Cell> cells;
  std::vector<Cell*> feeds;          // in the order of the request
  std::vector<const Cell*> fetches;  // in the order of the request
  std::vector<ScopeCell> scope_cells;
  std::vector<PreparedStep> steps;
  std::shared_ptr<void> arena;
  std::size_t arena_bytes = 0;
};

// Takes the steps of a block through the stages that turn them into the parts of a Plan.
class PlanBuilder {
 public:
  PlanBuilder(const ProgramDesc& program,
              const PlanRequest& request,
              const Scope& scope,
              const RunState& state);

  PlanParts build(const OpRegistry& ops);

 private:
  // Who owns the memory of a cell.
  enum class Owner { kFeed, kScope, kReadOnlyScope, kArena };
  struct Use {
    Owner owner = Owner::kArena;
    std::size_t bytes = 0;
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t scope_cell = 0;  // index, where the owner is a scope
  };
  struct CopyBack {
    const Cell* from;
    const Cell* to;
    std::size_t bytes;
  };

  void check_feeds();
  Steps steps_of_block(const OpRegistry& ops) const;
  void add_step(const Step& step, std::size_t position);
  Cell* read(const Step& step, const std::string& slot, const std::string& name);
  Cell* write(const Step& step,
              const std::string& slot,
              const std::string& name,
              const TensorSpec& spec,
              std::size_t position,
              std::vector<CopyBack>& copies);
  Cell* new_cell(TensorSpec spec, Use use);
  Cell* scope_cell(const std::string& name, TensorSpec spec, bool persistable);
  Cell* from_scope(const std::string& name);
  [[noreturn]] void report_unwritten(const std::string& who, const std::string& name) const;
  const Cell* fetched(const std::string& name, std::size_t end);
  void mark_backups(const Steps& steps);
  void place_temporaries();
  bool is_persistable(const std::string& name) const;

  const ProgramDesc& program_;
  const PlanRequest& request_;
  const Scope& scope_;
  const RunState& state_;
  PlanParts parts_;
  std::unordered_map<std::string, Cell*> current_;  // name -> where its newest value is
  std::unordered_map<const Cell*, Use> uses_;
};

}  // namespace fluidcore
