#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/op/op_def.h"

namespace fluidcore {

// The operators one program may use. A plain value: tests build their own.
class OpRegistry {
 public:
  void add(OpDef&& def);  // throws InvalidArgument on a second definition
  // See OpDef::add_kernels_through(); of all operators that were added.
  void add_kernels_through(DType wide, std::initializer_list<DType> narrow, KernelFactory factory);
  const OpDef& get(std::string_view type) const;   // throws NotFound, naming the nearest
  const OpDef* find(std::string_view type) const;  // null if unknown
  std::vector<std::string> types() const;          // sorted

  // The gradient of context.forward(), a complete operator: what its gradient maker gives, or else
  // the gradient of its decomposition. A name that several of the operators write stands for the
  // sum of what they write. Throws InvalidArgument for an operator without gradient, naming the
  // cure.
  std::vector<OpDesc> grad_ops(GradContext& context) const;

 private:
  std::map<std::string, OpDef, std::less<>> defs_;
};

}  // namespace fluidcore
