#include "fluidcore/program/var_desc.h"

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"

namespace fluidcore {

std::string_view to_string(VarType type) {
  return type == VarType::kTensorArray ? "lod_tensor_array" : "lod_tensor";
}

VarType var_type_from_name(std::string_view name) {
  for (const VarType type : {VarType::kTensor, VarType::kTensorArray}) {
    if (name == to_string(type)) return type;
  }
  throw InvalidArgument("variable type must be lod_tensor or lod_tensor_array, got '", name, "'");
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
