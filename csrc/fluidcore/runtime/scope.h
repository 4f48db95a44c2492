#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// What a Scope holds under a name.
class Variable {
 public:
  Tensor& tensor() { return tensor_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

// Names -> variables that live between runs: parameters, optimizer state. A name that a scope does
// not have is looked up in its parent. A scope may be used by one thread at a time; different
// scopes by different threads, also when they share a parent that nobody changes meanwhile.
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

  // Changes whenever a variable is added or erased here or above.
  std::uint64_t layout() const;

 private:
  explicit Scope(std::shared_ptr<const Scope> parent);

  std::shared_ptr<const Scope> parent_;
  std::map<std::string, std::shared_ptr<Variable>, std::less<>> vars_;
  std::vector<std::weak_ptr<Scope>> kids_;
  std::uint64_t changes_ = 0;
};

}  // namespace fluidcore
