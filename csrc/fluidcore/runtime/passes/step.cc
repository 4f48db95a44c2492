#include "fluidcore/runtime/passes/step.h"

#include <algorithm>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/program/block_desc.h"

namespace fluidcore {

namespace {

// Calls f(name) for every variable in the slots whose traits pass.
template <class FindSlot, class Pass, class F>
void each_name(const SlotMap& slots, FindSlot find_slot, Pass pass, F f) {
  for (const auto& [slot, names] : slots) {
    const OpDef::Slot* declared = find_slot(slot);
    if (!pass(declared != nullptr ? declared->traits : SlotTraits{})) continue;
    for (const std::string& name : names) {
      if (name != kEmptyName) f(name);
    }
  }
}

template <class Pass>
std::vector<std::string> outputs(const Step& step, Pass pass) {
  std::vector<std::string> names;
  each_name(
      step.op.outputs(),
      [&](const std::string& slot) { return step.def ? step.def->find_output(slot) : nullptr; },
      pass, [&](const std::string& name) { names.push_back(name); });
  return names;
}

}  // namespace

bool Body::is_local(const std::string& name) const {
  const auto var = block->find_var(name);
  return var && !var->persistable();
}

void Body::find_writes() {
  writes.clear();
  for (const Step& step : steps) {
    for (std::string& name : fluidcore::writes(step)) writes.insert(std::move(name));
    if (step.body) writes.insert(step.body->writes.begin(), step.body->writes.end());
  }
  std::erase_if(writes, [this](const std::string& name) { return is_local(name); });
}

std::string describe(const Step& step) {
  const std::string& site = step.op.call_site();
  return str_cat("operator ", step.index, " of block ", step.block, " (", step.op.type(), ")",
                 site.empty() ? "" : ", added at " + site);
}

std::vector<std::string> reads(const Step& step) {
  std::vector<std::string> names;
  each_name(
      step.op.inputs(),
      [&](const std::string& slot) { return step.def ? step.def->find_input(slot) : nullptr; },
      [](const SlotTraits& traits) { return !traits.of_block; },
      [&](const std::string& name) {
        const bool is_shape =
            std::any_of(step.shapes.begin(), step.shapes.end(),
                        [&](const ForwardShape& shape) { return shape.name == name; });
        if (!is_shape) names.push_back(name);
      });
  return names;
}

std::vector<std::string> writes(const Step& step) {
  return outputs(step, [](const SlotTraits& traits) { return !traits.of_block; });
}

std::vector<std::string> kills(const Step& step) {
  if (step.body) return {};
  return outputs(step, [](const SlotTraits& traits) { return !traits.of_block && !traits.array; });
}

}  // namespace fluidcore
