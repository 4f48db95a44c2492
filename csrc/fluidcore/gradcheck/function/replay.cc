#include "fluidcore/gradcheck/function/replay.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fluidcore/runtime/scope.h"
#include "fluidcore/tensor/selected_rows.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::size_t kMaxPlans = 8;

}  // namespace

Replay::Replay(const OpRegistry& ops,
               std::shared_ptr<const ProgramDesc> program,
               NamedTensors feeds,
               std::vector<std::string> fetches,
               const RunState& state,
               int threads)
    : ops_(ops),
      program_(std::move(program)),
      feeds_(std::move(feeds)),
      fetches_(std::move(fetches)),
      state_(state),
      threads_(threads),
      scope_(Scope::create()) {
  select({});
}

const std::vector<Tensor>& Replay::run(Interruption* interruption) {
  Extents extents;
  std::set<OpPlace> met;
  for (;;) {
    try {
      plans_.front().plan->run_into(results_, scope_, feeds_, state_, interruption);
      return dense_results();
    } catch (const OtherExtents& other) {
      // Everything up to this operator will be calculated as before, so once is enough.
      extents = plans_.front().extents;
      if (!met.insert(other.place()).second) other.report_changing(extents.at(other.place()));
      extents[other.place()] = other.extents();
    }
    select(extents);
  }
}

// A derivative is one of every element, also where the program holds selected rows only.
const std::vector<Tensor>& Replay::dense_results() {
  const auto has_rows = [](const Tensor& result) { return result.spec().rows.has_value(); };
  if (std::none_of(results_.begin(), results_.end(), has_rows)) return results_;
  dense_.resize(results_.size());
  std::transform(results_.begin(), results_.end(), dense_.begin(), to_dense);
  return dense_;
}

void Replay::select(const Extents& extents) {
  const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const ForExtents& known) {
    return known.extents == extents;
  });
  if (found != plans_.end()) {
    std::rotate(plans_.begin(), found, found + 1);
    return;
  }
  PlanRequest request{.feeds = {}, .fetches = fetches_, .threads = threads_, .extents = extents};
  for (const auto& [name, tensor] : feeds_) request.feeds.emplace_back(name, tensor.spec());
  auto plan = std::make_unique<Plan>(ops_, *program_, std::move(request), *scope_);
  if (plans_.size() == kMaxPlans) plans_.pop_back();
  plans_.insert(plans_.begin(), {extents, std::move(plan)});
}

}  // namespace fluidcore::gradcheck
