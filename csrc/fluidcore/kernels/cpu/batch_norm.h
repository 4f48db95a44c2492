#pragma once

#include <cstdint>
#include <vector>

#include "fluidcore/base/dtype.h"

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

// Tensors of T, or of 16 bits that are calculated as T: element `i` of `data` is of `dtype`.
struct Elements {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
};

// T is float or double; factors and statistics of channels are [channels] of it.

// Sums over all elements of a channel, in double. How a tensor is cut decides the layout alone, and
// parts are added up in order, so that results do not depend on the number of threads. One thread
// at a time calls one of these.
template <class T>
class ChannelSums {
 public:
  explicit ChannelSums(const ChannelLayout& layout);

  // The mean and the (biased) variance; needs per_channel() > 0.
  void moments(const Elements& x, T* mean, T* variance);
  // bias_grad = the sum of y_grad, scale_grad = that of y_grad (x - mean) inv_std.
  void gradients(const Elements& x,
                 const T* mean,
                 const T* inv_std,
                 const Elements& y_grad,
                 T* scale_grad,
                 T* bias_grad);

 private:
  // Channels [channel, channel + width) of the outer indices [begin, end).
  struct Part {
    std::int64_t channel, width, begin, end;
  };

  template <class F>
  void for_parts(const F& f);
  template <class F>
  void for_tiles(const Part& part, const F& f) const;

  ChannelLayout layout_;
  std::int64_t width_ = 1;      // channels of a part
  std::int64_t blocks_ = 0;     // of channels
  std::int64_t parts_ = 1;      // of each block
  std::vector<double> first_;   // [parts_, channels]
  std::vector<double> second_;  // likewise
};

// Elements [begin, begin + size) of y = (x - mean) factor + bias; x and y point to the first of
// them. y has the dtype of x.
template <class T>
void normalize(const ChannelLayout& layout,
               std::int64_t begin,
               std::int64_t size,
               const Elements& x,
               const T* mean,
               const T* factor,
               const T* bias,
               void* y);

// The same of x_grad = y_grad factor + (x - mean) slope + offset.
template <class T>
void batch_norm_x_grad(const ChannelLayout& layout,
                       std::int64_t begin,
                       std::int64_t size,
                       const Elements& x,
                       const Elements& y_grad,
                       const T* mean,
                       const T* factor,
                       const T* slope,
                       const T* offset,
                       void* x_grad);

}  // namespace fluidcore::cpu
