#pragma once

#include <cstdint>

#include "fluidcore/kernels/cpu/lrn.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/power.h"

namespace fluidcore::cuda {

// By element; see kernels/cpu/lrn.h.

// The sum of term(at) over the window of element i.
template <class T, class Term>
FC_HOST_DEVICE T sum_of_window(const cpu::ChannelWindows& w, std::int64_t i, const Term& term) {
  const std::int64_t channel = i / w.inner % w.channels;
  const std::int64_t before = channel < w.before ? channel : w.before;
  const std::int64_t left = w.channels - 1 - channel;
  const std::int64_t after = left < w.after ? left : w.after;
  T sum = 0;
  for (std::int64_t k = -before; k <= after; ++k) sum += term(i + k * w.inner);
  return sum;
}

template <class T>
FC_HOST_DEVICE T middle_of(const cpu::Lrn& lrn, std::int64_t i, const T* x) {
  const T squares =
      sum_of_window<T>(lrn.windows, i, [&](std::int64_t at) { return x[at] * x[at]; });
  return static_cast<T>(lrn.k) + static_cast<T>(lrn.alpha) * squares;
}

struct WindowSums {
  cpu::ChannelWindows windows;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, T* out) const {
    out[i] = sum_of_window<T>(windows, i, [&](std::int64_t at) { return x[at]; });
  }
};

struct LrnElements {
  cpu::Lrn lrn;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, T* mid, T* out) const {
    mid[i] = middle_of(lrn, i, x);
    out[i] = x[i] * math::pow(mid[i], static_cast<T>(-lrn.beta));
  }
};

// What each element adds to the gradients of its window.
struct LrnTerms {
  cpu::Lrn lrn;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, const T* dout, T* terms) const {
    const T mid = middle_of(lrn, i, x);
    terms[i] = dout[i] * math::pow(mid, static_cast<T>(-lrn.beta)) * x[i] / mid;
  }
};

struct LrnGrad {
  cpu::Lrn lrn;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, const T* dout, const T* terms, T* dx) const {
    cpu::ChannelWindows back = lrn.windows;
    back.before = lrn.windows.after;
    back.after = lrn.windows.before;
    const T spread = sum_of_window<T>(back, i, [&](std::int64_t at) { return terms[at]; });
    const T factor = static_cast<T>(-2 * lrn.alpha * lrn.beta);
    dx[i] = factor * x[i] * spread +
            dout[i] * math::pow(middle_of(lrn, i, x), static_cast<T>(-lrn.beta));
  }
};

}  // namespace fluidcore::cuda
