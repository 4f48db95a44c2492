#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/base/host_device.h"
#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cuda/image.h"

// Where the images and the taps of a convolution meet.

namespace fluidcore::cuda {

FC_HOST_DEVICE inline ImageLayout input_layout(const ConvProblem& p) {
  return {p.channels_last, p.channels, p.in_plane()};
}
FC_HOST_DEVICE inline ImageLayout output_layout(const ConvProblem& p) {
  return {p.channels_last, p.filters, p.out_plane()};
}

// The position of the input that a tap meets for a position of the output; -1: in the padding.
FC_HOST_DEVICE inline std::int64_t met_position(const ConvProblem& p,
                                                std::int64_t out,
                                                std::int64_t tap) {
  std::int64_t position = 0;
  std::int64_t step = 1;
  for (std::size_t axis = p.in.size(); axis-- > 0;) {
    const std::int64_t at =
        out % p.out[axis] * p.stride[axis] + tap % p.kernel[axis] * p.dilation[axis] - p.pad[axis];
    if (at < 0 || at >= p.in[axis]) return -1;
    position += at * step;
    step *= p.in[axis];
    out /= p.out[axis];
    tap /= p.kernel[axis];
  }
  return position;
}

// The position of the output for which a tap meets a position of the input; -1: there is none.
FC_HOST_DEVICE inline std::int64_t meeting_position(const ConvProblem& p,
                                                    std::int64_t in,
                                                    std::int64_t tap) {
  std::int64_t position = 0;
  std::int64_t step = 1;
  for (std::size_t axis = p.in.size(); axis-- > 0;) {
    const std::int64_t distance =
        in % p.in[axis] + p.pad[axis] - tap % p.kernel[axis] * p.dilation[axis];
    const std::int64_t at = distance / p.stride[axis];
    if (distance < 0 || at * p.stride[axis] != distance || at >= p.out[axis]) return -1;
    position += at * step;
    step *= p.out[axis];
    in /= p.in[axis];
    tap /= p.kernel[axis];
  }
  return position;
}

}  // namespace fluidcore::cuda
