#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/program/revision.h"
#include "fluidcore/runtime/interruption.h"
#include "fluidcore/runtime/plan.h"

namespace fluidcore {

// Finds or builds the Plan for what is asked, and runs it.
//
//   Executor executor(builtin_ops());
//   executor.run(startup, {}, {}, scope, {});
//   const Tensor loss = executor.run(train, {{"img", img}}, {"loss"}, scope, {})[0];
//
// The first run with a given program version, fed shapes, fetches and options builds a Plan; later
// ones find it. Where an extent depends on the data, the Plan that ran last is tried first; one
// that meets another extent is left, and the run begins again, with the same random numbers, with
// the Plan that ran last of those for what was met, or a new one. The program is never changed.
// Where other processes keep the cores busy, a run may use fewer threads (see Pace), which changes
// no bit of the results. Any number of threads may call run() at a time. On one scope, runs that
// only read its variables go on side by side; one that writes variables waits until no other uses
// these.
class Executor {
 public:
  struct Options {
    Device device = {};
    bool allow_cpu_fallback = false;  // see PlanRequest
    bool waits = false;
    int threads = 1;
    bool check_nan = false;
    std::vector<std::string> skipped_passes = {};
    Interruption* interruption = nullptr;  // ends the run early
    Profile* profile = nullptr;            // is told what every operator took
    // What collective operators use; an error of the run makes it fail.
    Communicator* communicator = nullptr;
  };

  explicit Executor(const OpRegistry& ops);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Returns the fetched variables, in memory of their own. Throws what Plan throws; then `scope` is
  // as before.
  std::vector<Tensor> run(const ProgramDesc& program,
                          const NamedTensors& feeds,
                          const std::vector<std::string>& fetches,
                          const std::shared_ptr<Scope>& scope,
                          const Options& options);

  // What the random operators of a program draw from in its next run: with what is fed and the
  // scope, all that a run depends on.
  RunState next_state(const ProgramDesc& program);
  // Goes on from `state`, which next_state() of this or another Executor gave. Programs without a
  // seed of their own get its seed in the place of the one that was drawn. Throws InvalidArgument
  // where the program has a seed of its own and `state` another one.
  void set_next_state(const ProgramDesc& program, const RunState& state);

  void close();  // forgets every Plan and frees its memory
  std::size_t cached_plans() const;

 private:
  struct CachedPlan;
  using Entry = std::list<CachedPlan>::iterator;

  // The step counter of one program: random operators give new numbers in every run.
  struct Counter {
    std::weak_ptr<std::uint64_t> program;
    std::uint64_t steps = 0;
  };

  using Extents = std::map<OpPlace, Shape>;

  // What a run asks for.
  struct Call {
    const ProgramDesc& program;
    const NamedTensors& feeds;
    const std::vector<std::string>& fetches;
    const std::shared_ptr<Scope>& scope;
    Options options;
    Extents met = {};    // by this run, so far: a Plan that serves was made for them
    Extents guess = {};  // what a new Plan takes the others to be
  };

  // Takes a Plan that serves the call out of the cache, or leaves an entry to be filled.
  Entry take(const Call& call);
  Entry find(const Call& call);
  // Draws `state` when it is not set; sets the guess to the extents of the Plan when it throws
  // OtherExtents.
  std::vector<Tensor> run_once(Call& call, std::optional<RunState>& state);
  void give_back(Entry entry, std::unique_ptr<Plan> plan, double seconds);
  RunState draw(const ProgramDesc& program);
  std::uint64_t seed_of(const ProgramDesc& program) const;
  Counter& counter_of(const ProgramDesc& program);  // with mutex_ locked

  const OpRegistry& ops_;
  std::uint64_t drawn_seed_;
  mutable std::mutex mutex_;
  std::list<CachedPlan> cache_;  // most recently used first
  std::vector<Counter> counters_;
};

}  // namespace fluidcore
