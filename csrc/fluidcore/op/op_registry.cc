#include "fluidcore/op/op_registry.h"

#include <mutex>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/op/decomposition_grad.h"

namespace fluidcore {

OpRegistry::OpRegistry(const OpRegistry& other) : defs_(other.defs()) {
}

OpRegistry::Defs OpRegistry::defs() const {
  const std::shared_lock lock(mutex_);
  return defs_;
}

void OpRegistry::add(OpDef&& def) {
  std::string type = def.type();
  const std::unique_lock lock(mutex_);
  const bool inserted = defs_.try_emplace(type, std::make_shared<OpDef>(std::move(def))).second;
  require(inserted, "operator '", type, "' is defined twice");
}

void OpRegistry::merge(const OpRegistry& more) {
  Defs added = more.defs();
  const std::unique_lock lock(mutex_);
  for (const auto& [type, def] : added) {
    require(!defs_.contains(type), "operator '", type, "' is defined twice");
  }
  defs_.merge(added);
}

void OpRegistry::set(const std::vector<std::string>& types, const OpRegistry& from) {
  const Defs others = from.defs();
  const std::unique_lock lock(mutex_);
  for (const std::string& type : types) {
    const auto before = defs_.find(type);
    if (before != defs_.end()) {
      replaced_.push_back(std::move(before->second));
      defs_.erase(before);
      ++revision_;
    }
    const auto other = others.find(type);
    if (other != others.end()) defs_.insert(*other);
  }
}

void OpRegistry::add_kernels_through(DType wide,
                                     std::initializer_list<DType> narrow,
                                     const KernelFactory& factory) {
  const std::unique_lock lock(mutex_);
  for (auto& [type, def] : defs_) def->add_kernels_through(wide, narrow, factory);
}

const OpDef* OpRegistry::find(std::string_view type) const {
  const std::shared_lock lock(mutex_);
  const auto it = defs_.find(type);
  return it == defs_.end() ? nullptr : it->second.get();
}

const OpDef& OpRegistry::get(std::string_view type) const {
  if (const OpDef* def = find(type)) return *def;
  const std::string near = nearest(type, types());
  throw NotFound("no operator '", type, "'",
                 near.empty() ? "; op_types() lists them" : "; did you mean '" + near + "'?");
}

std::vector<std::string> OpRegistry::types() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> types;
  types.reserve(defs_.size());
  for (const auto& [type, def] : defs_) types.push_back(type);
  return types;
}

std::vector<OpDesc> OpRegistry::grad_ops(GradContext& context) const {
  const OpDef& def = get(context.forward().type());
  return def.has_grad_maker() || !def.has_decomposition() ? def.grad_ops(context)
                                                          : grad_of_decomposition(*this, context);
}

}  // namespace fluidcore
