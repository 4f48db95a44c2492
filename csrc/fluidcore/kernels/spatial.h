#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fluidcore {

// A number for each spatial axis of a convolution or pooling. Where there are fewer axes than
// these, they are the last ones, and the extent of those before them is 1.
using Spatial = std::array<std::int64_t, 3>;
inline constexpr std::size_t kDepth = 0;
inline constexpr std::size_t kHeight = 1;
inline constexpr std::size_t kWidth = 2;

constexpr std::int64_t product(const Spatial& extents) {
  return extents[kDepth] * extents[kHeight] * extents[kWidth];
}

}  // namespace fluidcore
