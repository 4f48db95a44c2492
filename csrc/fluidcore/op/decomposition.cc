#include "fluidcore/op/decomposition.h"

#include "fluidcore/base/strings.h"
#include "fluidcore/op/op_registry.h"

namespace fluidcore {

namespace {

Expr binary(const std::string& type, const Expr& a, const Expr& b) {
  return a.owner().op(type, {{"X", a}, {"Y", b}});
}

const SpecsByName kNoSpecs;

}  // namespace

Decomposition::Decomposition(const OpRegistry& registry, const OpDesc& op, const SpecsByName& specs)
    : registry_(registry), op_(op), specs_(specs) {
}

Decomposition::Decomposition(const OpRegistry& registry, const OpDesc& op)
    : Decomposition(registry, op, kNoSpecs) {
}

Expr Decomposition::input(std::string_view slot) {
  require(!op_.input(slot).empty(), op_.type(), ": ", slot,
          " must be given to be differentiated, got nothing");
  return {*this, op_.input(slot)[0]};
}

Expr Decomposition::op(const std::string& type,
                       const Inputs& inputs,
                       AttributeMap attrs,
                       const std::string& output) {
  return add_step(type, inputs, std::move(attrs), output, 1, false)[0];
}

std::vector<Expr> Decomposition::list(const std::string& type,
                                      const Inputs& inputs,
                                      AttributeMap attrs,
                                      std::size_t count,
                                      const std::string& output) {
  return add_step(type, inputs, std::move(attrs), output, count, false);
}

Expr Decomposition::constant(const std::string& type,
                             const Inputs& inputs,
                             AttributeMap attrs,
                             const std::string& output) {
  return add_step(type, inputs, std::move(attrs), output, 1, true)[0];
}

Expr Decomposition::filled_like(const Expr& like, double value) {
  return op("fill_any_like", {{"X", like}}, {{"value", value}});
}

const TensorSpec& Decomposition::spec(std::string_view slot) const {
  const std::vector<std::string>& names = op_.input(slot);
  const auto found = names.empty() ? specs_.end() : specs_.find(names[0]);
  require(found != specs_.end(), op_.type(), ": shape and dtype of ", slot,
          " must be known for its decomposition, got nothing; write the operator into a block");
  return found->second;
}

// An operator's first output is written by no other, so neither is a name that is made from it.
std::string Decomposition::next_name() const {
  const std::vector<std::string> written = op_.output_arg_names();
  return str_cat(written.empty() ? op_.type() : written[0], "@PART@",
                 std::to_string(steps_.size()));
}

void Decomposition::add(const Recording& recording) {
  std::map<std::string, std::string> names;
  for (const auto& [slot, variables] : op_.inputs()) {
    if (!variables.empty()) names.emplace(slot, variables[0]);
  }
  const auto renamed = [&names](SlotMap slots) {
    for (auto& [slot, variables] : slots) {
      for (std::string& name : variables) {
        if (name != kEmptyName) name = names.at(name);
      }
    }
    return slots;
  };
  for (const auto& [op, is_constant] : recording.steps) {
    const std::string name = next_name();
    std::size_t count = 0;
    for (const std::string& made : op.output_arg_names()) {
      names.insert_or_assign(made, count == 0 ? name : str_cat(name, "@", count));
      ++count;
    }
    OpDesc step(op.type(), renamed(op.inputs()), renamed(op.outputs()), op.attrs());
    const OpDef& def = registry_.get(op.type());
    def.complete(step);
    steps_.push_back({std::move(step), is_constant || def.is_constant()});
  }
  for (const auto& [slot, value] : recording.results) set(slot, {*this, names.at(value)});
}

std::vector<Expr> Decomposition::add_step(const std::string& type,
                                          const Inputs& inputs,
                                          AttributeMap attrs,
                                          const std::string& output,
                                          std::size_t count,
                                          bool is_constant) {
  const std::string name = next_name();
  std::vector<std::string> names = {name};
  for (std::size_t i = 1; i < count; ++i) names.push_back(str_cat(name, "@", std::to_string(i)));
  SlotMap given;
  for (const auto& [slot, value] : inputs) given[slot].push_back(value.name());
  SlotMap results;
  const OpDef& def = registry_.get(type);
  for (const OpDef::Slot& slot : def.outputs()) {
    if (!slot.traits.optional && !slot.traits.intermediate) {
      results[slot.name] = {std::string(kEmptyName)};
    }
  }
  results[output] = names;
  OpDesc step(type, std::move(given), std::move(results), std::move(attrs));
  def.complete(step);
  steps_.push_back({std::move(step), is_constant || def.is_constant()});
  std::vector<Expr> made;
  made.reserve(names.size());
  for (std::string& each : names) made.emplace_back(*this, std::move(each));
  return made;
}

bool Decomposition::wants(std::string_view slot) const {
  const std::vector<std::string>& names = op_.output(slot);
  return !names.empty() && names[0] != kEmptyName;
}

void Decomposition::set(std::string_view slot, const Expr& value) {
  if (wants(slot)) results_.emplace(op_.output(slot)[0], value.name());
}

Expr operator+(const Expr& a, const Expr& b) {
  return binary("elementwise_add", a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
  return binary("elementwise_sub", a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
  return binary("elementwise_mul", a, b);
}
Expr operator/(const Expr& a, const Expr& b) {
  return binary("elementwise_div", a, b);
}
Expr operator-(const Expr& a) {
  return -1.0 * a;
}
Expr operator+(const Expr& a, double b) {
  return a + a.owner().filled_like(a, b);
}
Expr operator+(double a, const Expr& b) {
  return b + a;
}
Expr operator-(const Expr& a, double b) {
  return a + -b;
}
Expr operator-(double a, const Expr& b) {
  return b.owner().filled_like(b, a) - b;
}
Expr operator*(double a, const Expr& b) {
  return b.owner().op("scale", {{"X", b}}, {{"scale", a}});
}
Expr operator/(double a, const Expr& b) {
  return b.owner().filled_like(b, a) / b;
}

Expr square(const Expr& a) {
  return a.owner().op("square", {{"X", a}});
}

Expr is_zero(const Expr& a) {
  return 1.0 - square(a.owner().constant("sign", {{"X", a}}));
}

}  // namespace fluidcore
