#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/op/op_def.h"

namespace fluidcore {

// The operators one program may use. A value: tests build their own. Any number of threads may read
// one while another adds to it; what get() and find() gave stays as it was.
class OpRegistry {
 public:
  OpRegistry() = default;
  OpRegistry(const OpRegistry& other);
  OpRegistry& operator=(const OpRegistry&) = delete;

  void add(OpDef&& def);  // throws InvalidArgument on a second definition
  // Adds all of `more`, or throws InvalidArgument and adds none.
  void merge(const OpRegistry& more);
  // Each of `types` becomes what it is in `from`, or unknown where it is unknown there. Plans that
  // exist go on with what they were made of.
  void set(const std::vector<std::string>& types, const OpRegistry& from);
  // See OpDef::add_kernels_through(); of all operators that were added, before anybody reads them.
  void add_kernels_through(DType wide,
                           std::initializer_list<DType> narrow,
                           const KernelFactory& factory);

  const OpDef& get(std::string_view type) const;   // throws NotFound, naming the nearest
  const OpDef* find(std::string_view type) const;  // null if unknown
  std::vector<std::string> types() const;          // sorted
  // Another number whenever an operator made place for another one, or for none.
  std::uint64_t revision() const { return revision_; }

  // The gradient of context.forward(), a complete operator: what its gradient maker gives, or else
  // the gradient of its decomposition. A name that several of the operators write stands for the
  // sum of what they write. Throws InvalidArgument for an operator without gradient, naming the
  // cure.
  std::vector<OpDesc> grad_ops(GradContext& context) const;

 private:
  using Defs = std::map<std::string, std::shared_ptr<OpDef>, std::less<>>;

  Defs defs() const;

  mutable std::shared_mutex mutex_;
  Defs defs_;
  std::vector<std::shared_ptr<OpDef>> replaced_;
  std::atomic<std::uint64_t> revision_ = 0;  // Executors ask in every run
};

}  // namespace fluidcore
