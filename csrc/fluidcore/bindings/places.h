#pragma once

#include <pybind11/pybind11.h>

#include "fluidcore/base/device.h"

namespace fluidcore::bindings {

struct CpuPlace {};
struct CudaPlace {
  int id = 0;
};

inline Device device_of(const CpuPlace& /*place*/) {
  return {};
}
inline Device device_of(const CudaPlace& place) {
  return {DeviceKind::kCuda, place.id};
}

// Of CPUPlace(), CUDAPlace(i) or None, the CPU; throws InvalidArgument for anything else.
Device device_of(pybind11::handle place);

}  // namespace fluidcore::bindings
