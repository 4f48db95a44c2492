#include <map>
#include <string>

#include "fluidcore/runtime/plan_builder.h"

// What of a PlanBuilder lets variables be in the memory of others; see OpDef::view().

namespace fluidcore {

bool PlanBuilder::may_view(const Draft& draft) const {
  // A search for NaN looks at what a kernel has written, and extents from data are for one to
  // check.
  return !request_.check_nan && !skips(kViews) &&
         !draft.step.def->has_extents_from_data(draft.step.op);
}

bool PlanBuilder::is_view(Draft& draft,
                          const std::string& slot,
                          std::size_t index,
                          const TensorSpec& spec) {
  if (!may_view(draft)) return false;
  const std::string* input = draft.step.def->viewed_by(slot);
  if (input == nullptr) return false;
  const std::string& name = draft.step.op.output(slot)[index];
  const Cell* of = draft.inputs.at(*input)[0];
  if (of->array != nullptr && !changes_alone(draft, draft.step.op.input(*input)[0])) return false;
  if (variables_.view(draft.frame, name, spec, of, draft.surroundings) == nullptr) return false;
  return draft.has_views = true;
}

// What removes an element, or adds one, knows where the last element is while its block runs only
// if no other step of the block does so.
bool PlanBuilder::changes_alone(const Draft& draft, const std::string& array) {
  const auto found = draft.frame.changes.find(array);
  return found != draft.frame.changes.end() && found->second == 1;
}

void PlanBuilder::add_next_element(const Draft& draft, const std::string& slot, Cell* array) {
  if (!may_view(draft)) return;
  const std::string* input = draft.step.def->viewed_by(slot);
  if (input == nullptr || !changes_alone(draft, draft.step.op.output(slot)[0])) return;
  const Cell* value = draft.inputs.at(*input)[0];
  Cells::Use& use = cells_.use(value);
  if (!draft.frame.has(value) || use.is_set != nullptr || value->spec.rows) return;
  use.is_shared = true;  // with the element: nobody overwrites it
  draft.frame.next_elements.push_back({value, array});
}

void PlanBuilder::place_next_elements(Frame& frame) {
  for (const auto& [value, array] : frame.next_elements) {
    if (Place place = frame.take_out(value)) frame.prepared.nexts.push_back({place, array});
  }
}

std::map<std::string, int> changes_of_arrays(const Steps& steps) {
  std::map<std::string, int> changes;
  for (const Step& step : steps) {
    for (const auto& [slot, names] : step.op.outputs()) {
      if (!step.def->find_output(slot)->traits.array) continue;
      for (const std::string& name : names) ++changes[name];
    }
    if (!step.body) continue;
    for (const std::string& name : step.body->writes) ++changes[name];
  }
  return changes;
}

}  // namespace fluidcore
