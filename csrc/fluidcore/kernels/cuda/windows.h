#pragma once

#include <cstdint>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cuda/conv_positions.h"

// What turns convolutions into products, by element.

namespace fluidcore::cuda {

// The matrix of windows, [images * positions, channels * taps].
struct Windows {
  ConvProblem p;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* input, T* windows) const {
    const std::int64_t taps = product(p.kernel);
    const std::int64_t row = i / (p.channels * taps);
    const std::int64_t column = i - row * p.channels * taps;
    const std::int64_t channel = column / taps;
    const std::int64_t image = row / p.out_plane();
    const std::int64_t at = met_position(p, row - image * p.out_plane(), column - channel * taps);
    windows[i] = at < 0 ? T(0.0F) : input[input_layout(p).at(image, channel, at)];
  }
};

// An element of the input: the sum of those of the windows that it is in.
struct SumOfWindows {
  ConvProblem p;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* windows, T* input) const {
    const std::int64_t taps = product(p.kernel);
    const ImageElement to = input_layout(p).element(i);
    ComputeType<T> sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t out = meeting_position(p, to.position, tap);
      if (out < 0) continue;
      const std::int64_t row = to.image * p.out_plane() + out;
      sum += static_cast<ComputeType<T>>(windows[(row * p.channels + to.channel) * taps + tap]);
    }
    input[i] = static_cast<T>(sum);
  }
};

// [images, positions, channels] of images that have the channels first.
struct ChannelsToLast {
  ImageLayout first;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* from, T* to) const {
    const ImageLayout last{true, first.channels, first.plane};
    const ImageElement element = last.element(i);
    to[i] = from[first.at(element.image, element.channel, element.position)];
  }
};

struct AddTo {
  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* terms, T* sums) const {
    using C = ComputeType<T>;
    sums[i] = static_cast<T>(static_cast<C>(sums[i]) + static_cast<C>(terms[i]));
  }
};

}  // namespace fluidcore::cuda
