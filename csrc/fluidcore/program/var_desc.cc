#include "fluidcore/program/var_desc.h"

#include "fluidcore/base/strings.h"

namespace fluidcore {

std::string to_string(const VarDesc& var) {
  std::string text = str_cat(var.name(), ": ", var.spec());
  if (var.is_data()) text += " data";
  if (var.is_parameter()) {
    text += var.trainable() ? " parameter" : " parameter, not trainable";
  } else if (var.persistable()) {
    text += " persistable";
  }
  if (var.stop_gradient() && !var.is_data()) text += ", stop_gradient";
  return text;
}

}  // namespace fluidcore
