#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/kernels/conv_problem.h"

namespace fluidcore {

// A convolution of images of two axes, with what its kernels derive of the extents.
inline ConvProblem conv_problem(std::int64_t batch,
                                std::int64_t channels,
                                std::int64_t filters,
                                const Spatial& in,
                                const Spatial& kernel,
                                std::int64_t stride,
                                std::int64_t pad,
                                std::int64_t dilation) {
  ConvProblem p{.axes = 2,
                .batch = batch,
                .channels = channels,
                .filters = filters,
                .in = in,
                .kernel = kernel,
                .stride = {1, stride, stride},
                .pad = {0, pad, pad},
                .dilation = {1, dilation, dilation}};
  for (const std::size_t axis : {kHeight, kWidth}) {
    p.out[axis] = (in[axis] + 2 * pad - dilation * (kernel[axis] - 1) - 1) / stride + 1;
  }
  return p;
}

}  // namespace fluidcore
