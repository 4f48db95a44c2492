#include "fluidcore/op/decomposition_grad.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "fluidcore/op/decomposition.h"

namespace fluidcore {

namespace {

using NameSet = std::set<std::string>;
using DecompositionSteps = std::vector<Decomposition::Step>;

// The inputs whose elements a step reads.
NameSet elements_read(const OpRegistry& registry, const OpDesc& step) {
  NameSet read;
  const OpDef& def = registry.get(step.type());
  for (const OpDef::Slot& slot : def.inputs()) {
    if (def.reads_only_shape(step, slot)) continue;
    const std::vector<std::string>& names = step.input(slot.name);
    read.insert(names.begin(), names.end());
  }
  return read;
}

NameSet inputs_of(const OpDesc& op) {
  const std::vector<std::string> names = op.input_arg_names();
  return {names.begin(), names.end()};
}

bool any_in(const std::vector<std::string>& names, const NameSet& set) {
  return std::any_of(names.begin(), names.end(),
                     [&set](const std::string& name) { return set.contains(name); });
}

// The variables that depend on an input whose gradient is wanted.
NameSet varying_names(const OpRegistry& registry,
                      const GradContext& context,
                      const DecompositionSteps& steps) {
  NameSet varying;
  for (const std::string& name : context.forward().input_arg_names()) {
    if (context.wants(name)) varying.insert(name);
  }
  for (const auto& [step, is_constant] : steps) {
    const NameSet read = elements_read(registry, step);
    if (is_constant || !any_in({read.begin(), read.end()}, varying)) continue;
    for (const std::string& name : step.output_arg_names()) varying.insert(name);
  }
  return varying;
}

// The steps of which something is read by `readers`, or by another of these steps.
std::vector<OpDesc> steps_read_by(const std::vector<OpDesc>& readers,
                                  const DecompositionSteps& steps) {
  NameSet read;
  std::vector<OpDesc> kept;
  const auto keep_inputs = [&read](const OpDesc& op) {
    for (const std::string& name : op.input_arg_names()) read.insert(name);
  };
  for (const OpDesc& op : readers) keep_inputs(op);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (!any_in(step->op.output_arg_names(), read)) continue;
    keep_inputs(step->op);
    kept.push_back(step->op);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

// Differentiates the steps of one decomposition, last step first.
class Reverse {
 public:
  Reverse(const OpRegistry& registry, GradContext& context, const Decomposition& decomposition)
      : registry_(registry),
        context_(context),
        inputs_(inputs_of(context.forward())),
        varying_(varying_names(registry, context, decomposition.steps())) {
    start(decomposition);
    const DecompositionSteps& steps = decomposition.steps();
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (any_in(step->op.output_arg_names(), reached_)) differentiate(step->op);
    }
  }

  std::vector<OpDesc> take_ops() { return std::move(ops_); }

 private:
  // Lets the gradients of the operator's outputs be those of the variables that they equal.
  void start(const Decomposition& decomposition) {
    std::map<std::string, int> uses;
    for (const std::string& name : context_.forward().input_arg_names()) ++uses[name];
    for (const auto& [output, value] : decomposition.results()) ++uses[value];
    for (const auto& [step, is_constant] : decomposition.steps()) {
      for (const std::string& name : step.input_arg_names()) ++uses[name];
    }
    for (const auto& [output, value] : decomposition.results()) {
      if (!varying_.contains(value)) continue;
      reached_.insert(value);
      if (uses[value] == 1) {
        incoming_.emplace(grad_name(value), grad_name(output));
      } else {  // one part of several
        ops_.push_back(
            OpDesc("assign", {{"X", {grad_name(output)}}}, {{"Out", {grad_name(value)}}}));
        record(grad_name(value), value);
      }
    }
  }

  // The context knows the gradients of the operator's own inputs.
  void record(const std::string& grad, const std::string& name) {
    if (inputs_.contains(name)) context_.record(grad, name);
  }

  void differentiate(const OpDesc& step) {
    NameSet no_grad;
    for (const std::string& name : step.input_arg_names()) {
      if (!varying_.contains(name)) no_grad.insert(name);
    }
    GradContext context(step, no_grad);
    std::vector<OpDesc> grads = registry_.grad_ops(context);
    add_zeros(step, grads);
    for (OpDesc& grad : grads) {
      for (const auto& [from, to] : incoming_) grad.rename_input(from, to);
      for (const std::string& name : grad.output_arg_names()) {
        const auto found = context.grad_to_var().find(name);
        if (found == context.grad_to_var().end()) continue;
        reached_.insert(found->second);
        record(found->first, found->second);
      }
      ops_.push_back(std::move(grad));
    }
  }

  // The gradients that `grads` read of outputs of a step on which no result depends.
  void add_zeros(const OpDesc& step, const std::vector<OpDesc>& grads) {
    NameSet read;
    for (const OpDesc& grad : grads) read.merge(inputs_of(grad));
    for (const std::string& name : step.output_arg_names()) {
      if (reached_.contains(name) || !read.contains(grad_name(name))) continue;
      ops_.push_back(
          OpDesc("fill_any_like", {{"X", {name}}}, {{"Out", {grad_name(name)}}}, {{"value", 0.0}}));
    }
  }

  const OpRegistry& registry_;
  GradContext& context_;
  NameSet inputs_;
  NameSet varying_;
  NameSet reached_;  // variables that have a gradient
  std::map<std::string, std::string> incoming_;
  std::vector<OpDesc> ops_;
};

}  // namespace

std::vector<OpDesc> grad_of_decomposition(const OpRegistry& registry, GradContext& context) {
  const OpDesc& forward = context.forward();
  Decomposition decomposition(registry, forward, context.specs());
  registry.get(forward.type()).decomposition()(decomposition);
  std::vector<OpDesc> grads = Reverse(registry, context, decomposition).take_ops();
  std::vector<OpDesc> ops = steps_read_by(grads, decomposition.steps());
  ops.insert(ops.end(), grads.begin(), grads.end());
  for (OpDesc& op : ops) op.set_call_site(forward.call_site());
  return ops;
}

}  // namespace fluidcore
