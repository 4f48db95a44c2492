#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/program/attribute.h"
#include "fluidcore/program/revision.h"

namespace fluidcore {

using SlotMap = std::map<std::string, std::vector<std::string>, std::less<>>;

// In an output list: this gradient is not wanted. No variable, no memory, no kernel writes it.
inline constexpr std::string_view kEmptyName = "@EMPTY@";
inline constexpr std::string_view kGradSuffix = "@GRAD";

std::string grad_name(std::string_view name);  // "x" -> "x@GRAD"

// One operator of a block: its type, the variables in its slots, its attributes.
class OpDesc {
 public:
  OpDesc() = default;
  OpDesc(std::string type, SlotMap inputs, SlotMap outputs, AttributeMap attrs = {});

  const std::string& type() const { return type_; }
  void set_type(std::string type);

  const SlotMap& inputs() const { return inputs_; }  // slot -> variables, e.g. {"X": ["fc_0.out"]}
  const SlotMap& outputs() const { return outputs_; }
  const AttributeMap& attrs() const { return attrs_; }

  // The variables of one slot; an empty list for a slot that is not there.
  const std::vector<std::string>& input(std::string_view slot) const;
  const std::vector<std::string>& output(std::string_view slot) const;
  void set_input(std::string_view slot, std::vector<std::string> names);
  void set_output(std::string_view slot, std::vector<std::string> names);
  void remove_input(std::string_view slot);

  bool has_attr(std::string_view name) const { return attrs_.contains(name); }
  const Attribute& attr(std::string_view name) const;  // throws NotFound, naming the nearest
  void set_attr(std::string_view name, Attribute value);
  void set_attrs(AttributeMap attrs);

  std::vector<std::string> input_arg_names() const;  // of all slots, in slot order, without @EMPTY@
  std::vector<std::string> output_arg_names() const;
  void rename_input(std::string_view from, const std::string& to);
  void rename_output(std::string_view from, const std::string& to);

  // "train.py:41", where the user added the operator; empty if unknown. Not saved.
  const std::string& call_site() const { return call_site_; }
  void set_call_site(std::string site) { call_site_ = std::move(site); }

  void link(Revision revision) { revision_.link(std::move(revision)); }

 private:
  std::string type_;
  SlotMap inputs_;
  SlotMap outputs_;
  AttributeMap attrs_;
  std::string call_site_;
  RevisionLink revision_;
};

// mul(X=img, Y=fc_0.w_0) -> Out=fc_0.tmp_0   # x_num_col_dims=1, y_num_col_dims=1
std::string to_string(const OpDesc& op);

}  // namespace fluidcore
