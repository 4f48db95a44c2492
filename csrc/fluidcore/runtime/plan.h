#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/op/op_registry.h"
#include "fluidcore/op/random_stream.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

class ProgramDesc;
class Scope;

// Tensors by name, in the order in which they were given.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// What a Plan is made for.
struct PlanRequest {
  std::vector<std::pair<std::string, TensorSpec>> feeds;
  std::vector<std::string> fetches;
  Device device = Device::kCpu;
  int threads = 1;
  bool check_nan = false;  // look for NaN after every operator, and name the one that made it

  friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

// Block 0 of a program made ready to run on one device, for one set of fed shapes.
//
// The constructor decides everything that does not depend on data: which operators the fetches
// need, every shape, the kernel of every operator with what it prepares, the place of every
// temporary in one block of memory, and which variables live in the Scope. run() binds the
// variables to memory and calls one function per operator: no name is looked up, nothing is
// allocated but the tensors it returns.
//
// A Plan has memory of its own, so one thread runs it at a time; the Executor keeps one for each.
class Plan {
 public:
  // Reads the shapes of the variables that the block takes from `scope`. Throws NotFound for an
  // unknown operator, fed or fetched variable; InvalidArgument for a feed that contradicts its
  // declaration, a variable that is read before it is written, shapes that do not fit.
  Plan(const OpRegistry& ops, const ProgramDesc& program, PlanRequest request, const Scope& scope);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // True when the variables that the Plan reads are in `scope`, with the shapes it was made for.
  bool fits(const std::shared_ptr<Scope>& scope);

  // Runs every operator once, on a scope that fits. `feeds` are in the order of the request; so
  // are the returned tensors, which are copies. When a kernel throws, the scope is as it was.
  std::vector<Tensor> run(const std::shared_ptr<Scope>& scope,
                          const NamedTensors& feeds,
                          const RunState& state);

  std::size_t num_steps() const;
  std::size_t arena_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fluidcore
