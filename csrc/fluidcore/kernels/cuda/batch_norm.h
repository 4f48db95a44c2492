#pragma once

#include <cmath>
#include <cstdint>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/batch_norm.h"
#include "fluidcore/kernels/cuda/launch.h"

namespace fluidcore::cuda {

// Numbers of channels are of T, elements are stored as Stored.

FC_HOST_DEVICE inline std::int64_t channel_of(const cpu::ChannelLayout& layout, std::int64_t i) {
  return i / layout.inner % layout.channels;
}

// Element i of what the variance is the mean of.
template <class T, class Stored>
struct SquaredDistance {
  cpu::ChannelLayout layout;
  const Stored* x;
  const T* mean;

  FC_HOST_DEVICE T operator()(std::int64_t i) const {
    const T distance = static_cast<T>(x[i]) - mean[channel_of(layout, i)];
    return distance * distance;
  }
};

// Element i of what the gradient of the scale is the sum of.
template <class T, class Stored>
struct NormalizedGrad {
  cpu::ChannelLayout layout;
  const Stored* x;
  const Stored* dy;
  const T* mean;
  const T* inv_std;

  FC_HOST_DEVICE T operator()(std::int64_t i) const {
    const std::int64_t c = channel_of(layout, i);
    return static_cast<T>(dy[i]) * ((static_cast<T>(x[i]) - mean[c]) * inv_std[c]);
  }
};

// By channel. `used` is the mean and, at first, the variance of the batch; without a batch they
// become the running ones.
template <class T>
struct Statistics {
  bool of_batch;
  T momentum;
  T epsilon;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index c,
                                 const T* mean,
                                 const T* variance,
                                 T* mean_out,
                                 T* variance_out,
                                 T* used_mean,
                                 T* inv_std) const {
    const T now = of_batch ? inv_std[c] : variance[c];
    if (!of_batch) used_mean[c] = mean[c];
    mean_out[c] = running(mean[c], used_mean[c]);
    variance_out[c] = running(variance[c], now);
    inv_std[c] = T(1) / std::sqrt(now + epsilon);
  }

  FC_HOST_DEVICE T running(T before, T batch) const {
    return of_batch ? before * momentum + batch * (T(1) - momentum) : before;
  }
};

struct BatchNormalize {
  cpu::ChannelLayout layout;

  template <class Index, class T, class Stored>
  FC_HOST_DEVICE void operator()(Index i,
                                 const Stored* x,
                                 const T* mean,
                                 const T* inv_std,
                                 const T* scale,
                                 const T* bias,
                                 Stored* y) const {
    const std::int64_t c = channel_of(layout, i);
    y[i] =
        static_cast<Stored>((static_cast<T>(x[i]) - mean[c]) * (inv_std[c] * scale[c]) + bias[c]);
  }
};

// X@GRAD; `share` is 1 / the elements of a channel, or 0 where the statistics are constants.
template <class T>
struct BatchNormInputGrad {
  cpu::ChannelLayout layout;
  T share;

  template <class Index, class Stored>
  FC_HOST_DEVICE void operator()(Index i,
                                 const Stored* x,
                                 const Stored* dy,
                                 const T* mean,
                                 const T* inv_std,
                                 const T* scale,
                                 const T* dscale,
                                 const T* dbias,
                                 Stored* dx) const {
    const std::int64_t c = channel_of(layout, i);
    const T normalized = (static_cast<T>(x[i]) - mean[c]) * inv_std[c];
    const T common = (dbias[c] + normalized * dscale[c]) * share;
    dx[i] = static_cast<Stored>((static_cast<T>(dy[i]) - common) * (inv_std[c] * scale[c]));
  }
};

}  // namespace fluidcore::cuda
