#include "fluidcore/op/op_registry.h"

#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/op/decomposition_grad.h"

namespace fluidcore {

void OpRegistry::add(OpDef&& def) {
  std::string type = def.type();
  const bool inserted = defs_.emplace(type, std::move(def)).second;
  require(inserted, "operator '", type, "' is defined twice");
}

void OpRegistry::add_kernels_through(DType wide,
                                     std::initializer_list<DType> narrow,
                                     KernelFactory factory) {
  for (auto& [type, def] : defs_) def.add_kernels_through(wide, narrow, factory);
}

const OpDef* OpRegistry::find(std::string_view type) const {
  const auto it = defs_.find(type);
  return it == defs_.end() ? nullptr : &it->second;
}

const OpDef& OpRegistry::get(std::string_view type) const {
  if (const OpDef* def = find(type)) return *def;
  const std::string near = nearest(type, types());
  throw NotFound("no operator '", type, "'",
                 near.empty() ? "; op_types() lists them" : "; did you mean '" + near + "'?");
}

std::vector<OpDesc> OpRegistry::grad_ops(GradContext& context) const {
  const OpDef& def = get(context.forward().type());
  return def.has_grad_maker() || !def.has_decomposition() ? def.grad_ops(context)
                                                          : grad_of_decomposition(*this, context);
}

std::vector<std::string> OpRegistry::types() const {
  std::vector<std::string> types;
  types.reserve(defs_.size());
  for (const auto& [type, def] : defs_) types.push_back(type);
  return types;
}

}  // namespace fluidcore
