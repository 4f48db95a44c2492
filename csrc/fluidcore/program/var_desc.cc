#include "fluidcore/program/var_desc.h"

#include <array>
#include <cstddef>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"

namespace fluidcore {

namespace {

struct TypeNames {
  VarType type;
  std::string_view name;
  std::string_view described;
};

constexpr std::array kTypes{
    TypeNames{VarType::kTensor, "lod_tensor", "a tensor"},
    TypeNames{VarType::kTensorArray, "lod_tensor_array", "a tensor array"},
    TypeNames{VarType::kSelectedRows, "selected_rows", "selected rows"},
};

}  // namespace

std::string_view to_string(VarType type) {
  return kTypes.at(static_cast<std::size_t>(type)).name;
}

std::string_view described(VarType type) {
  return kTypes.at(static_cast<std::size_t>(type)).described;
}

VarType var_type_from_name(std::string_view name) {
  for (const TypeNames& known : kTypes) {
    if (name == known.name) return known.type;
  }
  throw InvalidArgument(
      "variable type must be lod_tensor, lod_tensor_array or selected_rows, got '", name, "'");
}

void VarDesc::set_type(VarType type) {
  type_ = type;
  spec_.rows = type == VarType::kSelectedRows ? std::optional<std::int64_t>(-1) : std::nullopt;
  revision_.touch();
}

void VarDesc::set_error_clip(std::optional<ErrorClip> clip) {
  if (clip) {  // false for nan too
    require(clip->min <= clip->max, "variable '", name_,
            "': min of error_clip must be at most max, got min ", clip->min, ", max ", clip->max);
  }
  error_clip_ = clip;
  revision_.touch();
}

std::string to_string(const VarDesc& var) {
  std::string text = str_cat(var.name(), ": ", var.spec());
  if (var.type() == VarType::kTensorArray) text += " array";
  if (var.is_data()) text += " data";
  if (var.is_parameter()) {
    text += var.trainable() ? " parameter" : " parameter, not trainable";
  } else if (var.persistable()) {
    text += " persistable";
  }
  if (var.stop_gradient() && !var.is_data()) text += ", stop_gradient";
  if (const auto& clip = var.error_clip()) {
    text += str_cat(", error_clip [", clip->min, ", ", clip->max, "]");
  }
  return text;
}

}  // namespace fluidcore
