#pragma once

#include <cstdint>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cuda/conv_positions.h"
#include "fluidcore/kernels/cuda/launch.h"

// Convolutions in groups of few channels or filters, by element.

namespace fluidcore::cuda {

struct DirectConv {
  ConvProblem p;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* input, const T* filter, T* output) const {
    using C = ComputeType<T>;
    const std::int64_t taps = product(p.kernel);
    const std::int64_t channels = p.channels / p.groups;
    const ImageElement to = output_layout(p).element(i);
    const std::int64_t first = to.channel / (p.filters / p.groups) * channels;
    C sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t at = met_position(p, to.position, tap);
      if (at < 0) continue;
      for (std::int64_t c = 0; c < channels; ++c) {
        sum += static_cast<C>(input[input_layout(p).at(to.image, first + c, at)]) *
               static_cast<C>(filter[(to.channel * channels + c) * taps + tap]);
      }
    }
    output[i] = static_cast<T>(sum);
  }
};

struct DirectConvInputGrad {
  ConvProblem p;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* dout, const T* filter, T* dinput) const {
    using C = ComputeType<T>;
    const std::int64_t taps = product(p.kernel);
    const std::int64_t channels = p.channels / p.groups;
    const std::int64_t filters = p.filters / p.groups;
    const ImageElement to = input_layout(p).element(i);
    const std::int64_t group = to.channel / channels;
    C sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t at = meeting_position(p, to.position, tap);
      if (at < 0) continue;
      for (std::int64_t f = group * filters; f < (group + 1) * filters; ++f) {
        sum += static_cast<C>(dout[output_layout(p).at(to.image, f, at)]) *
               static_cast<C>(filter[(f * channels + to.channel - group * channels) * taps + tap]);
      }
    }
    dinput[i] = static_cast<T>(sum);
  }
};

struct DirectConvFilterGrad {
  ConvProblem p;

  template <class T>
  FC_HOST_DEVICE void operator()(
      const Group& threads, std::int64_t i, const T* input, const T* dout, T* dfilter) const {
    using C = ComputeType<T>;
    const std::int64_t taps = product(p.kernel);
    const std::int64_t channels = p.channels / p.groups;
    const std::int64_t tap = i % taps;
    const std::int64_t f = i / taps / channels;
    const std::int64_t channel = f / (p.filters / p.groups) * channels + i / taps % channels;
    C sum = 0;
    for (std::int64_t row = threads.rank(); row < p.batch * p.out_plane(); row += threads.size()) {
      const std::int64_t image = row / p.out_plane();
      const std::int64_t out = row - image * p.out_plane();
      const std::int64_t at = met_position(p, out, tap);
      if (at < 0) continue;
      sum += static_cast<C>(input[input_layout(p).at(image, channel, at)]) *
             static_cast<C>(dout[output_layout(p).at(image, f, out)]);
    }
    sum = threads.sum(sum);
    if (threads.rank() == 0) dfilter[i] = static_cast<T>(sum);
  }
};

}  // namespace fluidcore::cuda
