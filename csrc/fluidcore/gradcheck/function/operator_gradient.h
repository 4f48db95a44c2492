#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/gradcheck/function/program_function.h"
#include "fluidcore/gradcheck/function/replay.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// The tensors of the slots of an operator.
using SlotTensors = std::vector<std::pair<std::string, std::vector<Tensor>>>;

// One operator at given values.
struct OperatorCase {
  std::string type;
  SlotTensors inputs = {};
  AttributeMap attrs = {};
  std::set<std::string> no_grad = {};                   // slots not to be differentiated by
  std::map<std::string, std::size_t> num_outputs = {};  // of output slots with a list; else 1
  std::uint64_t seed = 0;                               // of random operators
};

// The gradient that the gradient operators of an operator calculate, by the inputs that have one.
class OperatorGradient final : public Gradient {
 public:
  // Throws what adding the operators to a program throws; InvalidArgument for an operator with a
  // block, with tensor arrays, or without gradient.
  OperatorGradient(const OpRegistry& ops, const OperatorCase& at);

  // Copies of those inputs, in the order in which they were given.
  const std::vector<Tensor>& inputs() const override { return wanted_values_; }
  // They are named after their slots: "X"; "X.0" and "X.1" where a slot holds several.
  const std::string& name(std::size_t k) const { return all_inputs_[wanted_[k]].first; }
  // How many rows of it do not depend on each other, in all outputs; 0: nothing is known.
  std::int64_t num_rows(std::size_t k) const;
  // The outputs that the gradient operators take a cotangent of: variables and specs.
  const std::vector<std::pair<std::string, TensorSpec>>& outputs() const { return outputs_; }
  // True when the operator and its gradient operators have kernels for the dtype.
  bool has_kernels(DType dtype) const;

  // The outputs as a function of the inputs.
  std::unique_ptr<ProgramFunction> forward() const;

  const std::vector<Tensor>& at(const std::vector<Tensor>& x,
                                const std::vector<Tensor>& v) override;

 private:
  SlotMap declare_inputs(const OperatorCase& at, std::set<std::string>& no_grad);
  std::vector<OpDesc> gradient_ops(const OpRegistry& ops,
                                   const OpDesc& forward,
                                   const std::set<std::string>& no_grad);
  void add_gradient(const OpRegistry& ops, std::vector<OpDesc> grads);
  void find_outputs(const OpDesc& forward, const std::vector<OpDesc>& grads);

  const OpRegistry& ops_;
  std::uint64_t seed_;
  std::vector<const OpDef*> defs_;  // of the operator and of its gradient operators
  ProgramDesc forward_;
  NamedTensors all_inputs_;          // those without gradient, too
  std::vector<std::size_t> wanted_;  // which of them are inputs()
  std::vector<Tensor> wanted_values_;
  std::vector<std::pair<std::string, TensorSpec>> outputs_;
  NamedTensors feeds_;  // of the gradient program: inputs, then cotangents
  std::unique_ptr<Replay> gradient_;
};

}  // namespace fluidcore::gradcheck
