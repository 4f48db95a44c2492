#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/plan.h"
#include "fluidcore/runtime/plan_parts.h"
#include "fluidcore/runtime/variables.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

// Takes the steps of a program through the stages that turn them into the parts of a Plan: shapes,
// cells and kernels, step by step in program order, a block before the operator that runs it; then
// memory.
class PlanBuilder {
 public:
  // The passes that can be left out.
  static constexpr const char* kChannelsLast = "channels_last";
  static constexpr const char* kEpilogues = "epilogues";
  static constexpr const char* kFuseRows = "fuse_rows";
  static constexpr const char* kTransposes = "transposes";
  static constexpr const char* kViews = "views";

  PlanBuilder(const ProgramDesc& program,
              const PlanRequest& request,
              const Scope& scope,
              const RunState& state,
              Watch& watch);

  PlanParts build(const OpRegistry& ops);

 private:
  // A step in the making.
  struct Draft {
    Frame& frame;
    const Step& step;
    const RunState& state;
    PreparedStep prepared;
    Surroundings surroundings;
    KernelContext::Slots inputs;
    KernelContext::Slots outputs;
    SubBlockRunner* sub_block = nullptr;
    bool has_views = false;    // outputs in the memory of inputs,
    bool has_results = false;  // and others, for the kernel to calculate
  };

  Steps without_feeds(Steps steps) const;
  void add_feeds();
  void prepare_steps(Frame& frame, const Steps& steps, const RunState& state);
  PreparedStep prepare(Frame& frame, const Step& step, const RunState& state);
  Kernel kernel(Draft& draft, const KernelContext& context) const;
  InferContext read_inputs(Draft& draft);
  const Cell* copy_before(Draft& draft, const Cell* cell);
  void prepare_block(Draft& draft, InferContext& infer);
  void write_outputs(Draft& draft, const InferContext& infer);
  bool may_view(const Draft& draft) const;
  bool is_view(Draft& draft, const InferContext& infer, const std::string& slot, std::size_t index);
  static bool changes_alone(const Draft& draft, const std::string& array);
  void add_next_element(const Draft& draft, const std::string& slot, Cell* array);
  static void place_next_elements(Frame& frame);
  void add_results(Draft& draft, Frame& inside);
  std::optional<Shape> extents_from_data(const Step& step);
  FetchCell fetched(const std::string& name);
  bool skips(std::string_view pass) const;
  DeviceContext& device() const { return *watch_.device; }
  void run_passes(Frame& frame);
  void apply(Frame& frame, const Fused& fused);
  void mark_backups();
  std::size_t start_of_tail() const;
  void place_temporaries();

  const ProgramDesc& program_;
  const PlanRequest& request_;
  const RunState& state_;
  Watch& watch_;
  PlanParts parts_;
  Frames frames_;
  Cells cells_;
  Variables variables_;
  bool has_guessed_ = false;         // an extent that depends on the data
  PreparedStep most_scratch_;        // the type and note of who needs the most
  std::size_t end_of_throwing_ = 0;  // no step of block 0 from here on throws
};

// How many of the steps change each tensor array, themselves or by their blocks.
std::map<std::string, int> changes_of_arrays(const Steps& steps);

}  // namespace fluidcore
