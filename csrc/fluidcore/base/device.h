#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fluidcore {

enum class DeviceKind { kCpu, kCuda };

constexpr std::string_view to_string(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? "cpu" : "cuda";
}

// Where tensors live and operators run.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // of several of a kind, from 0

  bool is_cpu() const { return kind == DeviceKind::kCpu; }
  friend bool operator==(const Device&, const Device&) = default;
};

std::string to_string(const Device& device);  // "cpu", "cuda:0"

// Whether this build has kernels for CUDA: for devices, or for the emulated one of tests.
#ifdef FLUIDCORE_WITH_CUDA
inline constexpr bool kHasCuda = true;
#else
inline constexpr bool kHasCuda = false;
#endif

}  // namespace fluidcore
