#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/op/random_stream.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

class Interruption;
class Profile;
class ProgramDesc;
class Scope;

// Tensors by name, in the order in which they were given.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Names an operator of a program.
struct OpPlace {
  std::int64_t block = 0;
  std::size_t index = 0;

  friend auto operator<=>(const OpPlace&, const OpPlace&) = default;
};

// What a Plan is made for.
struct PlanRequest {
  std::vector<std::pair<std::string, TensorSpec>> feeds;
  std::vector<std::string> fetches;
  Device device = {};
  bool allow_cpu_fallback = false;  // operators that the device has no kernel for run on the CPU
  bool waits = false;  // for the device, after every operator, so that an error is the operator's
  int threads = 1;
  bool check_nan = false;  // look for NaN after every operator, and name the one that made it
  std::vector<std::string> skipped_passes = {};  // of pass_names()
  // The extents that depend on the data, as far as they were met; see OpDef::extents_from_data().
  std::map<OpPlace, Shape> extents = {};

  friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

// The passes that a Plan can do without: channels_last, epilogues, fuse_rows and transposes, see
// passes/, and views, by which outputs are in the memory of inputs with the same elements.
// channels_last and epilogues may change the rounding of results, the others change no bit.
const std::vector<std::string>& pass_names();

// Thrown by Plan::run(), which then has changed nothing: the data asks for other extents than the
// Plan was made for. Never reaches the user: the Executor makes another Plan.
class OtherExtents : public Error {
 public:
  OtherExtents(OpPlace place, Shape extents, std::string type, std::string note)
      : Error(type, ": the extents that depend on the data are ", extents),
        place_(place),
        extents_(std::move(extents)),
        type_(std::move(type)) {
    set_note(std::move(note));
  }

  OpPlace place() const { return place_; }
  const Shape& extents() const { return extents_; }
  // For the user: the same run has asked for others `before`.
  [[noreturn]] void report_changing(const Shape& before) const;

 private:
  OpPlace place_;
  Shape extents_;
  std::string type_;  // of the operator
};

// Thrown by Plan::run(), which then has changed nothing: the scope has changed since the Plan was
// made for it. Never reaches the user: the Executor makes another Plan.
class ScopeChanged : public Error {
 public:
  ScopeChanged() : Error("the scope is no longer as it was when the plan was made") {}
};

// Block 0 of a program, with the blocks that its operators run, made ready to run on one device,
// for one set of fed shapes.
//
// The constructor decides everything that does not depend on data: which operators the fetches
// need, every shape, the kernel of every operator with what it prepares, the place of every
// temporary in one block of memory, and which variables live in the Scope. run() binds the
// variables to memory and calls one function per operator: no name is looked up, nothing is
// allocated but the tensors it returns and the elements of tensor arrays. What a loop takes does
// not grow with its number of steps.
//
// A Plan has memory of its own, so one thread runs it at a time; the Executor keeps one for each.
class Plan {
 public:
  // Reads the shapes of the variables that the block takes from `scope`. Throws NotFound for an
  // unknown operator, fed or fetched variable; InvalidArgument for a feed that contradicts its
  // declaration, a variable that is read before it is written, shapes that do not fit, a pass that
  // there is not.
  Plan(const OpRegistry& ops, const ProgramDesc& program, PlanRequest request, const Scope& scope);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // True when the variables that the Plan reads are in `scope`, with the shapes it was made for.
  bool fits(const std::shared_ptr<Scope>& scope);

  // Runs every operator once. `feeds` are in the order of the request; so are the returned tensors,
  // whose memory is their own. When a kernel throws, the scope is as it was. Throws ScopeChanged
  // where the scope does not fit, and OtherExtents where the data asks for them.
  //
  // Waits until no other thread writes the variables of the scope that the Plan reads, or uses
  // those that it writes, and holds them until it ends; see Hold. An Interruption ends the waiting
  // and the run; a Profile is told what every operator took.
  std::vector<Tensor> run(const std::shared_ptr<Scope>& scope,
                          const NamedTensors& feeds,
                          const RunState& state,
                          Interruption* interruption = nullptr,
                          Profile* profile = nullptr);
  // The same, into tensors that the caller keeps: those that have the right spec are written, the
  // others become new ones. They must share no memory with the feeds. When a kernel throws, they
  // hold anything.
  void run_into(std::vector<Tensor>& results,
                const std::shared_ptr<Scope>& scope,
                const NamedTensors& feeds,
                const RunState& state,
                Interruption* interruption = nullptr,
                Profile* profile = nullptr);

  // A line for each step, after all passes, and one for each of its outputs that is in memory, with
  // its shape in the layout that it has, and where it is among the temporaries, in bytes. Blocks
  // one after the other; for people to read.
  std::string listing() const;
  std::size_t num_steps() const;  // of block 0
  double work() const;            // of the last run, as Lookout counts it
  std::size_t arena_bytes() const;
  // Of the variables of the scope that every run saves first, because it may fail after it has
  // written them.
  std::size_t backup_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fluidcore
