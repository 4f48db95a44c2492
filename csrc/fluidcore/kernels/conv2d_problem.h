#pragma once

#include <cstdint>

namespace fluidcore {

// A two-dimensional convolution: input [batch, channels, height, width], filter [filters,
// channels / groups, kernel_height, kernel_width], output [batch, filters, out_height, out_width].
struct Conv2dProblem {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t filters = 0;
  std::int64_t kernel_height = 0;
  std::int64_t kernel_width = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t pad_height = 0;  // zeros on both sides
  std::int64_t pad_width = 0;
  std::int64_t dilation_height = 1;  // 1: the taps of the filter are neighbours
  std::int64_t dilation_width = 1;
  std::int64_t groups = 1;

  std::int64_t in_plane() const { return height * width; }
  std::int64_t out_plane() const { return out_height * out_width; }
  // Elements of the input that one output depends on.
  std::int64_t taps() const { return channels / groups * kernel_height * kernel_width; }
  double flops() const {
    return 2.0 * static_cast<double>(batch * filters) * static_cast<double>(out_plane() * taps());
  }
  bool is_empty() const { return batch == 0 || filters == 0 || taps() == 0; }
};

}  // namespace fluidcore
