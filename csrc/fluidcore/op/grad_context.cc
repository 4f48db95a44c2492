#include "fluidcore/op/grad_context.h"

#include <algorithm>
#include <utility>

namespace fluidcore {

GradContext::GradContext(const OpDesc& forward,
                         const std::set<std::string>& no_grad,
                         std::vector<BlockIndex> grad_sub_blocks,
                         SpecsByName specs)
    : forward_(forward),
      no_grad_(no_grad),
      grad_sub_blocks_(std::move(grad_sub_blocks)),
      specs_(std::move(specs)) {
}

std::vector<std::string> GradContext::output_grad(std::string_view slot) const {
  std::vector<std::string> grads;
  for (const std::string& name : forward_.output(slot)) {
    grads.push_back(name == kEmptyName ? name : grad_name(name));
  }
  return grads;
}

std::vector<std::string> GradContext::input_grad(std::string_view slot) {
  std::vector<std::string> grads;
  for (const std::string& name : forward_.input(slot)) {
    if (!wants(name)) {
      grads.emplace_back(kEmptyName);
      continue;
    }
    grads.push_back(grad_name(name));
    record(grads.back(), name);
  }
  return grads;
}

bool GradContext::wants(const std::string& name) const {
  if (no_grad_.contains(name)) return false;
  const std::string grad = grad_name(name);
  if (!no_grad_.contains(grad)) return true;
  // A gradient operator reads y and y@GRAD: then y@GRAD is a variable like others.
  const std::vector<std::string> inputs = forward_.input_arg_names();
  return std::find(inputs.begin(), inputs.end(), grad) != inputs.end();
}

GradMaker standard_grad(StandardGrad form) {
  return [form = std::move(form)](GradContext& context) {
    const OpDesc& forward = context.forward();
    SlotMap inputs;
    SlotMap outputs;
    for (const std::string& slot : form.inputs) {
      if (!context.input(slot).empty()) inputs.emplace(slot, context.input(slot));
    }
    for (const std::string& slot : form.outputs) inputs.emplace(slot, context.output(slot));
    for (const std::string& slot : form.cotangents) {
      inputs.emplace(grad_name(slot), context.output_grad(slot));
    }
    for (const std::string& slot : form.differentiable) {
      if (!context.input(slot).empty()) outputs.emplace(grad_name(slot), context.input_grad(slot));
    }
    return std::vector<OpDesc>{
        OpDesc(forward.type() + "_grad", std::move(inputs), std::move(outputs), forward.attrs())};
  };
}

}  // namespace fluidcore
