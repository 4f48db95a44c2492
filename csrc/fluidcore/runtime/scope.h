#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/runtime/hold.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// What a Scope holds under a name.
//
// A run holds the variables that it reads and writes. Any thread may call the functions that wait:
// for the runs that write the variable, those that change it for the runs that read it, too. They
// throw what Hold::acquire() throws.
class Variable {
 public:
  explicit Variable(std::shared_ptr<Holds> holds) : holds_(std::move(holds)) {}

  // For whoever has the scope to himself. What the first one returns may be changed, but not later
  // on: see version().
  Tensor& tensor() {
    touch();
    return tensor_;
  }
  const Tensor& tensor() const { return tensor_; }

  // Another one whenever the value may have changed, as long as nobody else has its memory: see
  // Tensor::is_shared().
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void touch() { version_.fetch_add(1, std::memory_order_relaxed); }

  Tensor read(Interruption* interruption = nullptr);  // waits; a copy that shares the memory
  std::optional<Tensor> try_read();                   // does not wait: null
  // Calls f(tensor()).
  template <class F>
  void change(const F& f, Interruption* interruption = nullptr) {
    use(true, true, interruption, f);
  }
  template <class F>
  bool try_change(const F& f) {  // does not wait: false
    return use(true, false, nullptr, f);
  }

  std::optional<TensorSpec> spec() const;  // null where there is no value; does not wait

  Holdable& holdable() { return holdable_; }

 private:
  template <class F>
  bool use(bool writes, bool waits, Interruption* interruption, const F& f) {
    Wishes wishes{{&holdable_, writes}};
    Hold hold(*holds_, interruption, "tensor");
    const Holds::Lock lock =
        waits ? hold.acquire(wishes, [](const Holds::Lock& /*lock*/) {}) : hold.try_acquire(wishes);
    if (!lock) return false;
    touch();  // who reads may keep the memory, and write to it later
    f(tensor_);
    return true;
  }

  std::shared_ptr<Holds> holds_;
  Holdable holdable_;
  Tensor tensor_;
  std::atomic<std::uint64_t> version_ = 1;
};

// Names -> variables that live between runs: parameters, optimizer state. A name that a scope does
// not have is looked up in its parent. Any thread may use it; what the variables hold, see there.
class Scope : public std::enable_shared_from_this<Scope> {
 public:
  static std::shared_ptr<Scope> create();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  std::shared_ptr<Variable> var(const std::string& name);           // found here, or created here
  std::shared_ptr<Variable> find_var(std::string_view name) const;  // here or above; else null
  std::vector<std::string> local_var_names() const;                 // sorted
  void erase(std::string_view name);                                // no error if it is not there

  std::shared_ptr<Scope> new_scope();  // a child; it keeps this scope alive, not the reverse
  const std::shared_ptr<const Scope>& parent() const { return parent_; }  // null: there is none
  void drop_kids();  // empties every child that is still in use

  // Copies of the variables of these names, here or above, all as they are at one moment: between
  // two runs. Not initialized where there is no value. Waits as Variable does.
  std::vector<Tensor> snapshot(const std::vector<std::string>& names,
                               Interruption* interruption = nullptr) const;

  // Changes whenever a variable is added or erased here or above.
  std::uint64_t layout() const;

  // Of this scope, those above, and all their children. The functions that take a lock are for
  // whoever has locked it.
  Holds& holds() const { return *holds_; }
  std::shared_ptr<Variable> var(const std::string& name, const Holds::Lock& lock);
  std::shared_ptr<Variable> find_var(std::string_view name, const Holds::Lock& lock) const;
  void erase(std::string_view name, const Holds::Lock& lock);

 private:
  explicit Scope(std::shared_ptr<const Scope> parent);

  void clear_kids();

  std::shared_ptr<const Scope> parent_;
  std::shared_ptr<Holds> holds_;
  std::map<std::string, std::shared_ptr<Variable>, std::less<>> vars_;
  std::vector<std::weak_ptr<Scope>> kids_;
  std::atomic<std::uint64_t> changes_ = 0;
};

}  // namespace fluidcore
