#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/kernels/spatial.h"

namespace fluidcore {

// A convolution over `axes` spatial axes: input [batch, channels, in...], filter [filters,
// channels / groups, kernel...], output [batch, filters, out...]. With `channels_last` input and
// output are [batch, in..., channels] and [batch, out..., filters] in memory.
struct ConvProblem {
  bool channels_last = false;
  std::size_t axes = 2;
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t filters = 0;
  std::int64_t groups = 1;
  Spatial in{1, 1, 1};
  Spatial kernel{1, 1, 1};
  Spatial out{1, 1, 1};
  Spatial stride{1, 1, 1};
  Spatial pad{0, 0, 0};       // zeros on both sides
  Spatial dilation{1, 1, 1};  // 1: the taps of the filter are neighbours

  constexpr std::int64_t in_plane() const { return product(in); }
  constexpr std::int64_t out_plane() const { return product(out); }
  // Elements of the input that one output depends on.
  constexpr std::int64_t taps() const { return channels / groups * product(kernel); }
  double flops() const {
    return 2.0 * static_cast<double>(batch * filters) * static_cast<double>(out_plane() * taps());
  }
  bool is_empty() const { return batch == 0 || filters == 0 || taps() == 0; }
};

}  // namespace fluidcore
