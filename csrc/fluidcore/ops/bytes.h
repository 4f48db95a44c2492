#pragma once

#include <cstdint>

#include "fluidcore/base/shape.h"

namespace fluidcore {

// Of a tensor whose extents are known.
inline std::int64_t bytes_of(const TensorSpec& spec) {
  return static_cast<std::int64_t>(size_of(spec.dtype)) * spec.shape.num_elements();
}

}  // namespace fluidcore
