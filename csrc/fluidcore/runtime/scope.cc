#include "fluidcore/runtime/scope.h"

#include <utility>

namespace fluidcore {

Scope::Scope(std::shared_ptr<const Scope> parent) : parent_(std::move(parent)) {
}

std::shared_ptr<Scope> Scope::create() {
  return std::shared_ptr<Scope>(new Scope(nullptr));
}

std::shared_ptr<Variable> Scope::var(const std::string& name) {
  std::shared_ptr<Variable>& found = vars_[name];
  if (!found) {
    found = std::make_shared<Variable>();
    ++changes_;
  }
  return found;
}

std::shared_ptr<Variable> Scope::find_var(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
    const auto it = scope->vars_.find(name);
    if (it != scope->vars_.end()) return it->second;
  }
  return nullptr;
}

std::vector<std::string> Scope::local_var_names() const {
  std::vector<std::string> names;
  names.reserve(vars_.size());
  for (const auto& [name, var] : vars_) names.push_back(name);
  return names;
}

void Scope::erase(std::string_view name) {
  const auto it = vars_.find(name);
  if (it == vars_.end()) return;
  vars_.erase(it);
  ++changes_;
}

std::shared_ptr<Scope> Scope::new_scope() {
  std::erase_if(kids_, [](const auto& kid) { return kid.expired(); });
  std::shared_ptr<Scope> kid(new Scope(shared_from_this()));
  kids_.push_back(kid);
  return kid;
}

void Scope::drop_kids() {
  for (const auto& weak : kids_) {
    const auto kid = weak.lock();
    if (!kid) continue;
    kid->drop_kids();
    kid->changes_ += kid->vars_.size();
    kid->vars_.clear();
  }
  kids_.clear();
}

std::uint64_t Scope::layout() const {
  std::uint64_t changes = 0;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
    changes += scope->changes_;
  }
  return changes;
}

}  // namespace fluidcore
