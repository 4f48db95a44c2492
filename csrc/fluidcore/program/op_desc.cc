#include "fluidcore/program/op_desc.h"

#include <algorithm>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"

namespace fluidcore {

namespace {

const std::vector<std::string>& names_of(const SlotMap& slots, std::string_view slot) {
  static const std::vector<std::string> kNone;
  const auto it = slots.find(slot);
  return it == slots.end() ? kNone : it->second;
}

std::vector<std::string> arg_names(const SlotMap& slots) {
  std::vector<std::string> all;
  for (const auto& [slot, names] : slots) {
    std::copy_if(names.begin(), names.end(), std::back_inserter(all),
                 [](const std::string& name) { return name != kEmptyName; });
  }
  return all;
}

void rename(SlotMap& slots, std::string_view from, const std::string& to) {
  for (auto& [slot, names] : slots) std::replace(names.begin(), names.end(), std::string(from), to);
}

// X=a, Y=[b, c]
std::string show(const SlotMap& slots) {
  std::string text;
  for (const auto& [slot, names] : slots) {
    if (names.empty()) continue;
    if (!text.empty()) text += ", ";
    text += str_cat(slot, "=", names.size() == 1 ? names.front() : str_cat("[", join(names), "]"));
  }
  return text;
}

}  // namespace

std::string grad_name(std::string_view name) {
  return str_cat(name, kGradSuffix);
}

OpDesc::OpDesc(std::string type, SlotMap inputs, SlotMap outputs, AttributeMap attrs)
    : type_(std::move(type)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      attrs_(std::move(attrs)) {
}

void OpDesc::set_type(std::string type) {
  type_ = std::move(type);
  revision_.touch();
}

const std::vector<std::string>& OpDesc::input(std::string_view slot) const {
  return names_of(inputs_, slot);
}

const std::vector<std::string>& OpDesc::output(std::string_view slot) const {
  return names_of(outputs_, slot);
}

void OpDesc::set_input(std::string_view slot, std::vector<std::string> names) {
  inputs_.insert_or_assign(std::string(slot), std::move(names));
  revision_.touch();
}

void OpDesc::remove_input(std::string_view slot) {
  if (const auto it = inputs_.find(slot); it != inputs_.end()) inputs_.erase(it);
  revision_.touch();
}

void OpDesc::set_output(std::string_view slot, std::vector<std::string> names) {
  outputs_.insert_or_assign(std::string(slot), std::move(names));
  revision_.touch();
}

const Attribute& OpDesc::attr(std::string_view name) const {
  const auto it = attrs_.find(name);
  if (it != attrs_.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [attr, value] : attrs_) known.push_back(attr);
  throw NotFound(type_, ": no attribute '", name, "'; it has: ", join(known));
}

void OpDesc::set_attr(std::string_view name, Attribute value) {
  attrs_.insert_or_assign(std::string(name), std::move(value));
  revision_.touch();
}

void OpDesc::set_attrs(AttributeMap attrs) {
  attrs_ = std::move(attrs);
  revision_.touch();
}

std::vector<std::string> OpDesc::input_arg_names() const {
  return arg_names(inputs_);
}

std::vector<std::string> OpDesc::output_arg_names() const {
  return arg_names(outputs_);
}

void OpDesc::rename_input(std::string_view from, const std::string& to) {
  rename(inputs_, from, to);
  revision_.touch();
}

void OpDesc::rename_output(std::string_view from, const std::string& to) {
  rename(outputs_, from, to);
  revision_.touch();
}

std::string to_string(const OpDesc& op) {
  std::string text = str_cat(op.type(), "(", show(op.inputs()), ") -> ", show(op.outputs()));
  std::string attrs;
  for (const auto& [name, value] : op.attrs()) {
    attrs += str_cat(attrs.empty() ? "" : ", ", name, "=", value);
  }
  return attrs.empty() ? text : text + "   # " + attrs;
}

}  // namespace fluidcore
