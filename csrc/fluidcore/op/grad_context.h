#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/base/shape.h"
#include "fluidcore/program/op_desc.h"

namespace fluidcore {

using SpecsByName = std::map<std::string, TensorSpec, std::less<>>;

// What a gradient maker is given: the forward operator and which gradients are unwanted. Remembers
// which gradient belongs to which forward variable.
class GradContext {
 public:
  GradContext(const OpDesc& forward,
              const std::set<std::string>& no_grad,
              std::vector<BlockIndex> grad_sub_blocks = {},
              SpecsByName specs = {});
  // What is given is only referred to.
  GradContext(const OpDesc& forward,
              std::set<std::string>&& no_grad,
              std::vector<BlockIndex> grad_sub_blocks = {},
              SpecsByName specs = {}) = delete;

  const OpDesc& forward() const { return forward_; }
  const std::vector<BlockIndex>& grad_sub_blocks() const { return grad_sub_blocks_; }
  // Of the inputs, as far as they are known; for OpDef::decomposes_by_specs().
  const SpecsByName& specs() const { return specs_; }

  const std::vector<std::string>& input(std::string_view slot) const {
    return forward_.input(slot);
  }
  const std::vector<std::string>& output(std::string_view slot) const {
    return forward_.output(slot);
  }

  // The incoming gradients of an output slot: ["out@GRAD"].
  std::vector<std::string> output_grad(std::string_view slot) const;
  // The gradients to calculate for an input slot: ["x@GRAD"], @EMPTY@ where unwanted.
  std::vector<std::string> input_grad(std::string_view slot);

  // Whether the gradient of an input variable is to be calculated. `no_grad` holds variables, or
  // names of gradients.
  bool wants(const std::string& name) const;

  const std::map<std::string, std::string>& grad_to_var() const { return grad_to_var_; }
  void record(std::string grad, std::string name) {
    grad_to_var_.emplace(std::move(grad), std::move(name));
  }

 private:
  const OpDesc& forward_;
  const std::set<std::string>& no_grad_;
  std::vector<BlockIndex> grad_sub_blocks_;
  SpecsByName specs_;
  std::map<std::string, std::string> grad_to_var_;
};

// From a forward operator to the operators that calculate its gradient.
using GradMaker = std::function<std::vector<OpDesc>(GradContext&)>;

// `<type>_grad` with the named forward inputs and outputs, the gradient of every output, and an
// output for the gradient of every input slot in `differentiable`; attributes are copied.
//   standard_grad({.inputs = {"X"}, .outputs = {}, .differentiable = {"X"}})
struct StandardGrad {
  std::vector<std::string> inputs = {};           // forward inputs that the formula reads
  std::vector<std::string> outputs = {};          // forward outputs that the formula reads
  std::vector<std::string> differentiable = {};   // inputs that have a gradient
  std::vector<std::string> cotangents = {"Out"};  // outputs whose gradients come in
};
GradMaker standard_grad(StandardGrad form);

}  // namespace fluidcore
