#pragma once

#include <cstdint>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/panel_product.h"

namespace fluidcore::cpu::winograd {

using namespace panels;

// The transformed images and filters are 16 matrices each, one for each element of a 4 x 4 tile.
inline constexpr std::int64_t kSide = 4;
inline constexpr std::int64_t kElements = kSide * kSide;

// How they lie in memory, counted in floats. The gaps keep what is written together from falling
// into the same set of a cache.
struct Panels {
  Panels(std::int64_t rows, std::int64_t columns)
      : count(divide_up(columns, kLanes)),
        panel((rows | 1) * kLanes),
        matrix(count * panel + kLanes) {}

  std::int64_t size() const { return kElements * matrix; }

  std::int64_t count;   // of panels
  std::int64_t panel;   // from one to the next
  std::int64_t matrix;  // from one to the next
};

}  // namespace fluidcore::cpu::winograd
