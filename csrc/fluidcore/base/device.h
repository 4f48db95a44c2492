#pragma once

#include <string_view>

namespace fluidcore {

enum class Device { kCpu, kCuda };

constexpr std::string_view to_string(Device device) {
  return device == Device::kCpu ? "cpu" : "cuda";
}

}  // namespace fluidcore
