#pragma once

#include <cstdint>

namespace fluidcore {

enum class Pooling { kMax, kAverage };

// Pooling over windows of kernel_height x kernel_width elements: input [batch, channels, height,
// width], output [batch, channels, out_height, out_width]. Padding takes no part: it is never the
// maximum, and an average divides by the elements that are there. Every window has at least one.
struct Pool2dProblem {
  Pooling pooling = Pooling::kMax;
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t pad_height = 0;
  std::int64_t pad_width = 0;

  std::int64_t planes() const { return batch * channels; }
};

}  // namespace fluidcore
