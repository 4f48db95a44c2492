#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "fluidcore/op/op_registry.h"
#include "fluidcore/op/random_stream.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/plan.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// Runs one program again and again: each run reads what the fed tensors hold then, and draws the
// same random numbers. No variable of the program may be persistable.
//
// Where an extent depends on the data, a Plan is kept for each of the extents met last.
class Replay {
 public:
  // Throws what Plan throws.
  Replay(const OpRegistry& ops,
         std::shared_ptr<const ProgramDesc> program,
         NamedTensors feeds,
         std::vector<std::string> fetches,
         const RunState& state,
         int threads);

  // The fetched values, selected rows as the tensors that they stand for; overwritten by the next
  // run.
  const std::vector<Tensor>& run(Interruption* interruption = nullptr);

 private:
  using Extents = std::map<OpPlace, Shape>;
  struct ForExtents {
    Extents extents;
    std::unique_ptr<Plan> plan;
  };

  // Makes the Plan for these extents the first.
  void select(const Extents& extents);
  const std::vector<Tensor>& dense_results();

  const OpRegistry& ops_;
  std::shared_ptr<const ProgramDesc> program_;
  NamedTensors feeds_;
  std::vector<std::string> fetches_;
  RunState state_;
  int threads_;
  std::shared_ptr<Scope> scope_;   // stays empty
  std::vector<ForExtents> plans_;  // the one that ran last first; never empty
  std::vector<Tensor> results_;
  std::vector<Tensor> dense_;  // the results, where some are selected rows
};

}  // namespace fluidcore::gradcheck
