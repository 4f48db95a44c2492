#include "fluidcore/runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <random>

#include <sys/random.h>

#include "fluidcore/base/error.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/pace.h"
#include "fluidcore/runtime/scope.h"

namespace fluidcore {

namespace {

constexpr std::size_t kMaxPlans = 64;
constexpr int kMaxThreads = 1024;  // OpenMP ends the process where it cannot start a thread

std::uint64_t draw_seed() {
  std::uint64_t seed = 0;  // std::random_device takes longer than a small plan
  if (getentropy(&seed, sizeof seed) != 0) seed = std::random_device()();
  return seed | 1u;
}

bool same_feeds(const std::vector<std::pair<std::string, TensorSpec>>& specs,
                const NamedTensors& feeds) {
  return std::equal(specs.begin(), specs.end(), feeds.begin(), feeds.end(),
                    [](const auto& spec, const auto& feed) {
                      return spec.second == feed.second.spec() && spec.first == feed.first;
                    });
}

bool has(const std::map<OpPlace, Shape>& extents, const std::map<OpPlace, Shape>& met) {
  return std::ranges::all_of(met, [&](const auto& one) {
    const auto found = extents.find(one.first);
    return found != extents.end() && found->second == one.second;
  });
}

}  // namespace

// The revision keeps the program's counter alive, so that its address names one program only.
struct Executor::CachedPlan {
  Revision program;
  std::uint64_t version = 0;
  std::uint64_t ops = 0;  // the revision of the registry
  PlanRequest request;
  std::unique_ptr<Plan> plan;  // null while it runs
  bool is_running = false;
  Pace pace = {};
};

Executor::Executor(const OpRegistry& ops) : ops_(ops), drawn_seed_(draw_seed()) {
}

Executor::~Executor() = default;

std::vector<Tensor> Executor::run(const ProgramDesc& program,
                                  const NamedTensors& feeds,
                                  const std::vector<std::string>& fetches,
                                  const std::shared_ptr<Scope>& scope,
                                  const Options& options) {
  require(options.threads >= 1 && options.threads <= kMaxThreads,
          "executor: threads must be at least 1 and at most ", kMaxThreads, ", got ",
          options.threads);
  for (const auto& [name, tensor] : feeds) {
    require(tensor.is_initialized(), "feed: '", name, "' must hold a value, got an empty tensor");
  }
  Call call{program, feeds, fetches, scope, options};
  std::optional<RunState> state;
  for (;;) {
    try {
      return run_once(call, state);
    } catch (const OtherExtents& other) {
      // Everything up to this operator will be calculated as before, so once is enough.
      const auto [met, is_new] = call.met.emplace(other.place(), other.extents());
      if (!is_new) other.report_changing(met->second);
    } catch (const ScopeChanged&) {
      continue;
    } catch (const std::exception& error) {
      if (options.communicator != nullptr) options.communicator->fail(error.what());
      throw;
    }
  }
}

std::vector<Tensor> Executor::run_once(Call& call, std::optional<RunState>& state) {
  const Entry entry = take(call);
  std::unique_ptr<Plan> plan = std::move(entry->plan);
  try {
    const ProgramDesc& program = call.program;
    if (!plan) plan = std::make_unique<Plan>(ops_, program, entry->request, *call.scope);
    if (!state) state = draw(program);
    if (Communicator* communicator = call.options.communicator) {
      state->communicator = communicator;
      state->rank = static_cast<std::uint64_t>(communicator->rank());
    }
    const auto start = Pace::Clock::now();
    std::vector<Tensor> results =
        plan->run(call.scope, call.feeds, *state, call.options.interruption, call.options.profile);
    const std::chrono::duration<double> duration = Pace::Clock::now() - start;
    give_back(entry, std::move(plan), duration.count());
    return results;
  } catch (const OtherExtents&) {
    call.guess = entry->request.extents;
    give_back(entry, std::move(plan), 0);
    throw;
  } catch (...) {
    give_back(entry, std::move(plan), 0);
    throw;
  }
}

Executor::Entry Executor::take(const Call& call) {
  const std::lock_guard lock(mutex_);
  Entry entry = find(call);
  // Half of them, as often as that is not enough: each count has a Plan and a Pace of its own.
  Call fewer = call;
  while (fewer.options.threads > 1 && entry->pace.prefers_fewer_threads(Pace::Clock::now())) {
    fewer.options.threads /= 2;
    entry = find(fewer);
  }
  entry->is_running = true;
  return entry;
}

Executor::Entry Executor::find(const Call& call) {
  const Revision& revision = call.program.revision();
  const std::uint64_t ops = ops_.revision();
  const Options& options = call.options;
  const auto serves = [&](const CachedPlan& cached) {
    const PlanRequest& request = cached.request;
    return !cached.is_running && cached.program == revision && cached.version == *revision &&
           cached.ops == ops && request.device == options.device &&
           request.allow_cpu_fallback == options.allow_cpu_fallback &&
           request.waits == options.waits && request.threads == options.threads &&
           request.check_nan == options.check_nan &&
           request.skipped_passes == options.skipped_passes && request.fetches == call.fetches &&
           has(request.extents, call.met) && same_feeds(request.feeds, call.feeds) &&
           cached.plan->fits(call.scope);
  };
  Entry entry = std::find_if(cache_.begin(), cache_.end(), serves);
  if (entry == cache_.end()) {
    // A program that has changed will not be asked for in its old version again, nor with operators
    // that were replaced.
    std::erase_if(cache_, [&](const CachedPlan& cached) {
      return !cached.is_running &&
             (cached.ops != ops || (cached.program == revision && cached.version != *revision));
    });
    PlanRequest request{.feeds = {},
                        .fetches = call.fetches,
                        .device = options.device,
                        .allow_cpu_fallback = options.allow_cpu_fallback,
                        .waits = options.waits,
                        .threads = options.threads,
                        .check_nan = options.check_nan,
                        .skipped_passes = options.skipped_passes};
    for (const auto& [name, tensor] : call.feeds) request.feeds.emplace_back(name, tensor.spec());
    request.extents = call.met;
    request.extents.insert(call.guess.begin(), call.guess.end());
    entry = cache_.insert(cache_.begin(), {revision, *revision, ops, std::move(request), nullptr});
  } else {
    cache_.splice(cache_.begin(), cache_, entry);
  }
  return entry;
}

void Executor::give_back(Entry entry, std::unique_ptr<Plan> plan, double seconds) {
  const std::lock_guard lock(mutex_);
  entry->is_running = false;
  if (seconds > 0) entry->pace.report(seconds, plan->work(), Pace::Clock::now());
  entry->plan = std::move(plan);
  if (!entry->plan) cache_.erase(entry);
  if (cache_.size() > kMaxPlans && !cache_.back().is_running) cache_.pop_back();
}

RunState Executor::draw(const ProgramDesc& program) {
  const std::lock_guard lock(mutex_);
  Counter& counter = counter_of(program);
  return {seed_of(program), counter.steps++};
}

RunState Executor::next_state(const ProgramDesc& program) {
  const std::lock_guard lock(mutex_);
  return {seed_of(program), counter_of(program).steps};
}

void Executor::set_next_state(const ProgramDesc& program, const RunState& state) {
  const std::uint64_t own = program.random_seed();
  require(own == 0 || own == state.seed, "executor: the state must be of the program's seed, ", own,
          ", got one of seed ", state.seed);
  const std::lock_guard lock(mutex_);
  if (own == 0) drawn_seed_ = state.seed;
  counter_of(program).steps = state.step;
}

std::uint64_t Executor::seed_of(const ProgramDesc& program) const {
  return program.random_seed() != 0 ? program.random_seed() : drawn_seed_;
}

Executor::Counter& Executor::counter_of(const ProgramDesc& program) {
  std::erase_if(counters_, [](const Counter& counter) { return counter.program.expired(); });
  for (Counter& counter : counters_) {
    if (counter.program.lock() == program.revision()) return counter;
  }
  return counters_.emplace_back(Counter{program.revision()});
}

void Executor::close() {
  const std::lock_guard lock(mutex_);
  std::erase_if(cache_, [](const CachedPlan& cached) { return !cached.is_running; });
}

std::size_t Executor::cached_plans() const {
  const std::lock_guard lock(mutex_);
  return cache_.size();
}

}  // namespace fluidcore
