#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/kernels/spatial.h"

namespace fluidcore {

enum class Pooling { kMax, kAverage };

// Pooling over windows of `kernel` elements along `axes` spatial axes: input [batch, channels,
// in...], output [batch, channels, out...]; with `channels_last` the channels come last in memory.
// Padding takes no part: it is never the maximum, and an
// average divides by the elements that are there. Every window has at least one.
//
// Adaptive: output i is of the elements from floor(i in / out) to ceil((i + 1) in / out), not
// included; stride and pad are not used, and kernel is about what a window has.
struct PoolProblem {
  Pooling pooling = Pooling::kMax;
  bool adaptive = false;
  bool channels_last = false;
  std::size_t axes = 2;
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  Spatial in{1, 1, 1};
  Spatial kernel{1, 1, 1};
  Spatial out{1, 1, 1};
  Spatial stride{1, 1, 1};
  Spatial pad{0, 0, 0};

  constexpr std::int64_t planes() const { return batch * channels; }
  constexpr std::int64_t in_plane() const { return product(in); }
  constexpr std::int64_t out_plane() const { return product(out); }
};

}  // namespace fluidcore
