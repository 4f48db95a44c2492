#include "fluidcore/gradcheck/function/operator_gradient.h"

#include <algorithm>
#include <cstring>

#include "fluidcore/op/infer.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::string_view kWho = "check_gradients: ";

void add_at_end(const OpRegistry& ops, ProgramDesc& program, OpDesc op) {
  add_op(ops, program, 0, program.block(0).ops().size(), std::move(op));
}

void declare_feed(ProgramDesc& program, const std::string& name, const TensorSpec& spec) {
  const auto var = program.block(0).var(name);
  var->set_shape(spec.shape);
  var->set_dtype(spec.dtype);
  var->set_is_data(true);
}

// Not the name of the slot: the slots "Out" and "Out@GRAD" would get one gradient.
std::string input_variable(std::size_t index) {
  return str_cat("input", index);
}

SlotMap output_slots(const OpDef& def, const OperatorCase& at) {
  SlotMap slots;
  std::size_t count = 0;
  for (const OpDef::Slot& slot : def.outputs()) {
    require(!slot.traits.array, kWho, at.type, " writes a tensor array; only an operator on ",
            "tensors can be checked alone");
    const auto asked = at.num_outputs.find(slot.name);
    if (asked == at.num_outputs.end() && slot.traits.optional) continue;
    const std::size_t num = asked == at.num_outputs.end() ? 1 : asked->second;
    for (std::size_t i = 0; i < num; ++i) slots[slot.name].push_back(str_cat("output", count++));
  }
  return slots;
}

// A name that several operators write stands for the sum of what they write: gives each a variable
// of its own, and adds them up where the sum is read, or at the end.
std::vector<OpDesc> with_sums(std::vector<OpDesc> ops) {
  std::map<std::string, int> writers;
  for (const OpDesc& op : ops) {
    for (const std::string& name : op.output_arg_names()) ++writers[name];
  }
  std::map<std::string, std::vector<std::string>> parts;
  std::vector<OpDesc> result;
  const auto add_up = [&](const std::string& name) {
    const auto found = parts.find(name);
    if (found == parts.end()) return;
    result.emplace_back("sum", SlotMap{{"X", std::move(found->second)}}, SlotMap{{"Out", {name}}});
    parts.erase(found);
  };
  for (OpDesc& op : ops) {
    for (const std::string& name : op.input_arg_names()) add_up(name);
    for (const auto& [slot, given] : SlotMap(op.outputs())) {
      std::vector<std::string> names = given;
      for (std::string& name : names) {
        if (writers[name] < 2) continue;
        std::vector<std::string>& known = parts[name];
        known.push_back(str_cat(name, "@SUMMAND@", known.size()));
        name = known.back();
      }
      op.set_output(slot, std::move(names));
    }
    result.push_back(std::move(op));
  }
  while (!parts.empty()) add_up(std::string(parts.begin()->first));
  return result;
}

void copy_into(const Tensor& to, const Tensor& from) {
  require(to.spec() == from.spec(), kWho, "values must keep their spec, ", to.spec(), ", got ",
          from.spec());
  if (to.bytes() > 0) std::memcpy(to.raw(), from.raw(), to.bytes());
}

}  // namespace

OperatorGradient::OperatorGradient(const OpRegistry& ops, const OperatorCase& at)
    : ops_(ops), seed_(at.seed) {
  const OpDef& def = ops.get(at.type);
  require(def.block_traits() == nullptr, kWho, at.type, " runs a block; only an operator ",
          "without one can be checked alone");
  std::set<std::string> no_grad;
  SlotMap inputs = declare_inputs(at, no_grad);
  add_at_end(ops, forward_, OpDesc(at.type, std::move(inputs), output_slots(def, at), at.attrs));
  const OpDesc forward = *forward_.block(0).ops()[0];
  defs_.push_back(&def);
  std::vector<OpDesc> grads = gradient_ops(ops, forward, no_grad);
  find_outputs(forward, grads);
  add_gradient(ops, std::move(grads));
}

SlotMap OperatorGradient::declare_inputs(const OperatorCase& at, std::set<std::string>& no_grad) {
  SlotMap slots;
  for (const auto& [slot, tensors] : at.inputs) {
    require(!slots.contains(slot), kWho, "every slot must be given once, got '", slot, "' twice");
    std::vector<std::string>& names = slots[slot];
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string shown = tensors.size() == 1 ? slot : str_cat(slot, ".", i);
      require(tensors[i].is_initialized(), kWho, "input ", shown,
              " must hold a value, got an empty tensor");
      names.push_back(input_variable(all_inputs_.size()));
      all_inputs_.emplace_back(shown, tensors[i].clone());
      declare_feed(forward_, names.back(), tensors[i].spec());
      const bool unwanted = at.no_grad.contains(slot) || !is_floating(tensors[i].dtype());
      if (unwanted) no_grad.insert(names.back());
    }
  }
  return slots;
}

std::vector<OpDesc> OperatorGradient::gradient_ops(const OpRegistry& ops,
                                                   const OpDesc& forward,
                                                   const std::set<std::string>& no_grad) {
  GradContext context(forward, no_grad);
  std::vector<OpDesc> grads = ops.grad_ops(context);
  std::set<std::string> written;
  for (const OpDesc& grad : grads) {
    for (std::string& name : grad.output_arg_names()) written.insert(std::move(name));
    defs_.push_back(&ops.get(grad.type()));
  }
  for (std::size_t i = 0; i < all_inputs_.size(); ++i) {
    const std::string name = input_variable(i);
    if (!no_grad.contains(name) && written.contains(grad_name(name))) {
      wanted_.push_back(i);
      wanted_values_.push_back(all_inputs_[i].second);
    }
  }
  require(!wanted_.empty(), kWho, forward.type(),
          " must have a gradient by one of its floating inputs, got none");
  return grads;
}

void OperatorGradient::find_outputs(const OpDesc& forward, const std::vector<OpDesc>& grads) {
  std::set<std::string> read;
  for (const OpDesc& grad : grads) {
    for (std::string& name : grad.input_arg_names()) read.insert(std::move(name));
  }
  const BlockDesc& block = forward_.block(0);
  const auto add = [&](const std::string& name) {
    const TensorSpec& spec = block.find_var(name)->spec();
    if (is_floating(spec.dtype)) outputs_.emplace_back(name, spec);
  };
  for (const std::string& name : forward.output_arg_names()) {
    if (read.contains(grad_name(name))) add(name);
  }
  // Gradient operators that read no cotangent at all are wrong, but not to be trusted in that.
  if (outputs_.empty()) add(forward.output_arg_names().at(0));
  require(!outputs_.empty(), kWho, forward.type(), " must have a floating output, got none");
  for (const auto& [name, spec] : outputs_) {
    require(spec.shape.is_known(), kWho, "the outputs of ", forward.type(),
            " must have known shapes, got ", spec.shape);
  }
}

void OperatorGradient::add_gradient(const OpRegistry& ops, std::vector<OpDesc> grads) {
  std::shared_ptr<ProgramDesc> program = forward_.clone();
  for (std::size_t i = 0; i < all_inputs_.size(); ++i) {
    feeds_.emplace_back(input_variable(i), all_inputs_[i].second.clone());
  }
  for (const auto& [name, spec] : outputs_) {
    declare_feed(*program, grad_name(name), spec);
    feeds_.emplace_back(grad_name(name), Tensor(spec));
  }
  for (OpDesc& grad : with_sums(std::move(grads))) add_at_end(ops, *program, std::move(grad));
  std::vector<std::string> fetches;
  fetches.reserve(wanted_.size());
  for (const std::size_t i : wanted_) fetches.push_back(grad_name(input_variable(i)));
  gradient_ = std::make_unique<Replay>(ops, program, feeds_, std::move(fetches),
                                       RunState{.seed = seed_}, 1);
}

std::int64_t OperatorGradient::num_rows(std::size_t k) const {
  const OpDesc& op = *forward_.block(0).ops()[0];
  InferContext::Slots specs;
  std::string_view slot;
  for (const auto& [name, variables] : op.inputs()) {
    for (const std::string& variable : variables) {
      const auto desc = forward_.block(0).find_var(variable);
      specs[name].push_back({desc->shape(), desc->dtype()});
      if (variable == input_variable(wanted_[k])) slot = name;
    }
  }
  return defs_.front()->num_rows(InferContext(op, std::move(specs), {}), slot);
}

bool OperatorGradient::has_kernels(DType dtype) const {
  return std::all_of(defs_.begin(), defs_.end(), [&](const OpDef* def) {
    return def->kernels().contains({DeviceKind::kCpu, dtype});
  });
}

std::unique_ptr<ProgramFunction> OperatorGradient::forward() const {
  std::vector<std::string> inputs;
  inputs.reserve(wanted_.size());
  for (const std::size_t i : wanted_) inputs.push_back(input_variable(i));
  NamedTensors feeds;
  for (std::size_t i = 0; i < all_inputs_.size(); ++i) {
    feeds.emplace_back(input_variable(i), all_inputs_[i].second);
  }
  std::vector<std::string> outputs;
  outputs.reserve(outputs_.size());
  for (const auto& [name, spec] : outputs_) outputs.push_back(name);
  return std::make_unique<ProgramFunction>(ops_, forward_, std::move(feeds), std::move(inputs),
                                           std::move(outputs), seed_);
}

const std::vector<Tensor>& OperatorGradient::at(const std::vector<Tensor>& x,
                                                const std::vector<Tensor>& v) {
  require(x.size() == wanted_.size() && v.size() == outputs_.size(), kWho, "there must be ",
          wanted_.size(), " inputs and ", outputs_.size(), " cotangents, got ", x.size(), " and ",
          v.size());
  for (std::size_t k = 0; k < x.size(); ++k) copy_into(feeds_[wanted_[k]].second, x[k]);
  for (std::size_t j = 0; j < v.size(); ++j) {
    copy_into(feeds_[all_inputs_.size() + j].second, v[j]);
  }
  return gradient_->run();
}

}  // namespace fluidcore::gradcheck
