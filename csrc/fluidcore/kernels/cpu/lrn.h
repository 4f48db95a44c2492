#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// [batch, channels, inner], and windows over channels: that of channel c reaches from c - before to
// c + after, without the channels that there are not.
struct ChannelWindows {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t inner;
  std::int64_t before;
  std::int64_t after;
};

// For T float or double; results do not depend on the number of threads.

// out = the sum of each window of x.
template <class T>
void window_sums(const ChannelWindows& windows, const T* x, T* out);

// Local response normalization: mid = k + alpha times the sum of x^2 over the window, out = x
// mid^-beta.
struct Lrn {
  ChannelWindows windows;
  double k;
  double alpha;
  double beta;
};
template <class T>
void lrn(const Lrn& lrn, const T* x, T* mid, T* out);

// `scratch` has the size of x.
template <class T>
void lrn_grad(const Lrn& lrn, const T* x, const T* out_grad, T* scratch, T* x_grad);

}  // namespace fluidcore::cpu
