#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "fluidcore/runtime/plan_builder.h"

// What of a PlanBuilder lets variables be in the memory of others; see OpDef::view().

namespace fluidcore {

namespace {

// Where in the input the elements of an output begin, if they follow each other there.
std::optional<std::int64_t> begin_of(const OpDef::View& view,
                                     const InferContext& context,
                                     const TensorSpec& of,
                                     const TensorSpec& spec,
                                     std::size_t index) {
  const std::int64_t size = spec.shape.num_elements();
  const std::int64_t whole = of.shape.num_elements();
  if (!view.begin) return size == whole ? std::optional<std::int64_t>(0) : std::nullopt;
  const std::optional<std::int64_t> begin = view.begin(context, index);
  return begin && *begin + size <= whole ? begin : std::nullopt;
}

}  // namespace

bool PlanBuilder::may_view(const Draft& draft) const {
  // A search for NaN looks at what a kernel has written, and extents from data are for one to
  // check.
  return !request_.check_nan && !skips(kViews) &&
         !draft.step.def->has_extents_from_data(draft.step.op);
}

bool PlanBuilder::is_view(Draft& draft,
                          const InferContext& infer,
                          const std::string& slot,
                          std::size_t index) {
  if (!may_view(draft)) return false;
  const OpDef::View* view = draft.step.def->find_view(slot);
  if (view == nullptr) return false;
  const std::string& name = draft.step.op.output(slot)[index];
  const Cell* of = draft.inputs.at(view->input)[0];
  if (of->array != nullptr && !changes_alone(draft, draft.step.op.input(view->input)[0])) {
    return false;
  }
  const TensorSpec& spec = infer.output(slot, index);
  const std::optional<std::int64_t> begin = begin_of(*view, infer, of->spec, spec, index);
  if (!begin) return false;
  if (!variables_.view(draft.frame, name, spec, of, *begin, draft.surroundings)) return false;
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
  const OpDef::View* view = draft.step.def->find_view(slot);
  if (view == nullptr || !changes_alone(draft, draft.step.op.output(slot)[0])) return;
  const Cell* value = draft.inputs.at(view->input)[0];
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
