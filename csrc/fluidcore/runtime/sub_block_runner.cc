#include "fluidcore/runtime/sub_block_runner.h"

#include <algorithm>
#include <utility>

#include "fluidcore/base/error.h"

namespace fluidcore {

namespace {

template <class Cells>
auto& find(const Cells& cells, const std::string& name, std::int64_t block_idx) {
  const auto it = cells.find(name);
  if (it == cells.end()) {
    throw NotFound("block ", block_idx, ": '", name,
                   "' is none of the variables that its operator declares");
  }
  return *it->second;
}

}  // namespace

void SubBlockRunner::run() {
  constexpr int kRunBits = 40;
  state_ = plan_state_;
  state_.block_run = (static_cast<std::uint64_t>(block_idx_) << kRunBits) + ++runs_;
  // Of a block without operators, too.
  block_.watch->lookout.add(0);
  if (block_.watch->lookout.is_due()) [[unlikely]]
    block_.watch->lookout.look(type_);
  block_.start();
  block_.run();
  for (const auto& check : checks_) check();
}

Cell& SubBlockRunner::given(const std::string& name) {
  return find(given_, name, block_idx_);
}

const Cell& SubBlockRunner::result(const std::string& name) {
  return find(results_, name, block_idx_);
}

Place SubBlockRunner::place_of(const std::string& name) {
  const auto found = places_.find(name);
  return found == places_.end() ? Place() : found->second;
}

bool SubBlockRunner::is_enqueued() const {
  return checks_.empty() && block_.arrays.empty() && block_.unset.empty() &&
         std::ranges::all_of(block_.steps, [](const PreparedStep& step) {
           return step.kernel.is_enqueued() && !step.kernel.check();
         });
}

void SubBlockRunner::add_check(std::function<void()> check) {
  checks_.push_back(std::move(check));
}

}  // namespace fluidcore
