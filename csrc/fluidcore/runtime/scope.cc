#include "fluidcore/runtime/scope.h"

#include <utility>

namespace fluidcore {

Tensor Variable::read(Interruption* interruption) {
  Tensor tensor;
  use(false, true, interruption, [&](const Tensor& held) { tensor = held; });
  return tensor;
}

std::optional<Tensor> Variable::try_read() {
  std::optional<Tensor> tensor;
  use(false, false, nullptr, [&](const Tensor& held) { tensor = held; });
  return tensor;
}

std::optional<TensorSpec> Variable::spec() const {
  const Holds::Lock lock = holds_->lock();
  if (!tensor_.is_initialized()) return std::nullopt;
  return tensor_.spec();
}

Scope::Scope(std::shared_ptr<const Scope> parent)
    : parent_(std::move(parent)), holds_(parent_ ? parent_->holds_ : std::make_shared<Holds>()) {
}

std::shared_ptr<Scope> Scope::create() {
  return std::shared_ptr<Scope>(new Scope(nullptr));
}

std::shared_ptr<Variable> Scope::var(const std::string& name) {
  return var(name, holds_->lock());
}

std::shared_ptr<Variable> Scope::var(const std::string& name, const Holds::Lock& /*lock*/) {
  std::shared_ptr<Variable>& found = vars_[name];
  if (!found) {
    found = std::make_shared<Variable>(holds_);
    ++changes_;
  }
  return found;
}

std::shared_ptr<Variable> Scope::find_var(std::string_view name) const {
  return find_var(name, holds_->lock());
}

std::shared_ptr<Variable> Scope::find_var(std::string_view name,
                                          const Holds::Lock& /*lock*/) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
    const auto it = scope->vars_.find(name);
    if (it != scope->vars_.end()) return it->second;
  }
  return nullptr;
}

std::vector<std::string> Scope::local_var_names() const {
  const Holds::Lock lock = holds_->lock();
  std::vector<std::string> names;
  names.reserve(vars_.size());
  for (const auto& [name, var] : vars_) names.push_back(name);
  return names;
}

void Scope::erase(std::string_view name) {
  erase(name, holds_->lock());
}

void Scope::erase(std::string_view name, const Holds::Lock& /*lock*/) {
  const auto it = vars_.find(name);
  if (it == vars_.end()) return;
  vars_.erase(it);
  ++changes_;
}

std::shared_ptr<Scope> Scope::new_scope() {
  std::shared_ptr<Scope> kid(new Scope(shared_from_this()));
  const Holds::Lock lock = holds_->lock();
  std::erase_if(kids_, [](const auto& known) { return known.expired(); });
  kids_.push_back(kid);
  return kid;
}

void Scope::drop_kids() {
  const Holds::Lock lock = holds_->lock();
  clear_kids();
}

void Scope::clear_kids() {
  for (const auto& weak : kids_) {
    const auto kid = weak.lock();
    if (!kid) continue;
    kid->clear_kids();
    kid->changes_ += kid->vars_.size();
    kid->vars_.clear();
  }
  kids_.clear();
}

std::vector<Tensor> Scope::snapshot(const std::vector<std::string>& names,
                                    Interruption* interruption) const {
  std::vector<std::shared_ptr<Variable>> variables(names.size());
  Wishes wishes;
  Hold hold(*holds_, interruption, "scope");
  hold.acquire(wishes, [&](const Holds::Lock& lock) {
    wishes.clear();
    for (std::size_t i = 0; i < names.size(); ++i) {
      variables[i] = find_var(names[i], lock);
      if (variables[i]) wishes.push_back({&variables[i]->holdable(), false});
    }
  });
  std::vector<Tensor> copies;
  copies.reserve(names.size());
  for (const auto& variable : variables) {
    copies.push_back(variable ? std::as_const(*variable).tensor().clone() : Tensor());
  }
  return copies;
}

std::uint64_t Scope::layout() const {
  std::uint64_t changes = 0;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
    changes += scope->changes_.load(std::memory_order_relaxed);
  }
  return changes;
}

}  // namespace fluidcore
