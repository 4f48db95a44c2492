#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// Where the channels of a tensor are: [outer, channels, inner]. NCHW has inner = height x width,
// NHWC has inner = 1.
struct ChannelLayout {
  std::int64_t outer = 0;
  std::int64_t channels = 0;
  std::int64_t inner = 0;

  std::int64_t size() const { return outer * channels * inner; }
  std::int64_t per_channel() const { return outer * inner; }
};

// All for T float or double, with sums in double; statistics and factors are [channels]. Channels
// are divided among threads, so that results do not depend on their number.

// The mean and the (biased) variance of every channel; needs per_channel() > 0.
template <class T>
void channel_moments(const ChannelLayout& layout, const T* x, T* mean, T* variance);

// y = (x - mean) inv_std scale + bias
template <class T>
void normalize(const ChannelLayout& layout,
               const T* x,
               const T* mean,
               const T* inv_std,
               const T* scale,
               const T* bias,
               T* y);

// The sums that the gradients are made of: bias_grad = sum of y_grad and scale_grad = sum of y_grad
// (x - mean) inv_std.
template <class T>
void batch_norm_sums(const ChannelLayout& layout,
                     const T* x,
                     const T* mean,
                     const T* inv_std,
                     const T* y_grad,
                     T* scale_grad,
                     T* bias_grad);

// x_grad where mean and inv_std are those of x itself (`of_batch`), or constants.
template <class T>
void batch_norm_x_grad(const ChannelLayout& layout,
                       bool of_batch,
                       const T* x,
                       const T* mean,
                       const T* inv_std,
                       const T* scale,
                       const T* scale_grad,
                       const T* bias_grad,
                       const T* y_grad,
                       T* x_grad);

}  // namespace fluidcore::cpu
