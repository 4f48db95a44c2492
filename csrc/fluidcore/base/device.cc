#include "fluidcore/base/device.h"

#include "fluidcore/base/strings.h"

namespace fluidcore {

std::string to_string(const Device& device) {
  const std::string kind(to_string(device.kind));
  return device.is_cpu() ? kind : str_cat(kind, ":", device.index);
}

}  // namespace fluidcore
