#include "fluidcore/kernels/cpu/lrn.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/power.h"

namespace fluidcore::cpu {

namespace {

// Calls f(row, first, last) for each channel of each image: the rows of its window are [first,
// last).
template <class F>
void for_window_rows(const ChannelWindows& w, const F& f) {
  constexpr std::int64_t kThreadWork = 1 << 15;
  const std::int64_t grain = kThreadWork / std::max<std::int64_t>(w.inner, 1) + 1;
  const Isa isa = cpu_isa();
  parallel_for(w.batch * w.channels, grain, [&](std::int64_t begin, std::int64_t end) {
    run_on(isa, [&] {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t channel = row % w.channels;
        const std::int64_t first = std::min(channel, w.before);
        const std::int64_t last = std::min(w.channels - 1 - channel, w.after);
        f(row, row - first, row + last + 1);
      }
    });
  });
}

template <class T>
void sum_rows(
    const ChannelWindows& w, const T* x, std::int64_t first, std::int64_t last, T* total) {
  std::fill_n(total, w.inner, T(0));
  for (std::int64_t row = first; row < last; ++row) {
    const T* from = x + row * w.inner;
    for (std::int64_t i = 0; i < w.inner; ++i) total[i] += from[i];
  }
}

// k + alpha times the sum of the squares of the rows.
template <class T>
void middle(const Lrn& p, const T* x, std::int64_t first, std::int64_t last, T* mid) {
  const std::int64_t inner = p.windows.inner;
  std::fill_n(mid, inner, T(0));
  for (std::int64_t row = first; row < last; ++row) {
    const T* from = x + row * inner;
    for (std::int64_t i = 0; i < inner; ++i) mid[i] += from[i] * from[i];
  }
  const T k = static_cast<T>(p.k);
  const T alpha = static_cast<T>(p.alpha);
  for (std::int64_t i = 0; i < inner; ++i) mid[i] = k + alpha * mid[i];
}

}  // namespace

template <class T>
void window_sums(const ChannelWindows& windows, const T* x, T* out) {
  for_window_rows(windows, [&](std::int64_t row, std::int64_t first, std::int64_t last) {
    sum_rows(windows, x, first, last, out + row * windows.inner);
  });
}

template <class T>
void lrn(const Lrn& p, const T* x, T* mid, T* out) {
  const T power = static_cast<T>(-p.beta);
  for_window_rows(p.windows, [&](std::int64_t row, std::int64_t first, std::int64_t last) {
    const std::int64_t at = row * p.windows.inner;
    middle(p, x, first, last, mid + at);
#pragma omp simd
    for (std::int64_t i = at; i < at + p.windows.inner; ++i) {
      out[i] = x[i] * math::pow(mid[i], power);
    }
  });
}

template <class T>
void lrn_grad(const Lrn& p, const T* x, const T* out_grad, T* scratch, T* x_grad) {
  const T power = static_cast<T>(-p.beta);
  // What each element adds to the gradients of its window: out_grad out / mid.
  for_window_rows(p.windows, [&](std::int64_t row, std::int64_t first, std::int64_t last) {
    const std::int64_t at = row * p.windows.inner;
    middle(p, x, first, last, scratch + at);
#pragma omp simd
    for (std::int64_t i = at; i < at + p.windows.inner; ++i) {
      const T scaled = out_grad[i] * math::pow(scratch[i], power);
      scratch[i] = scaled * x[i] / scratch[i];
    }
  });
  const T factor = static_cast<T>(-2 * p.alpha * p.beta);
  ChannelWindows back = p.windows;
  std::swap(back.before, back.after);
  window_sums(back, scratch, x_grad);
  for_window_rows(p.windows, [&](std::int64_t row, std::int64_t first, std::int64_t last) {
    const std::int64_t at = row * p.windows.inner;
    middle(p, x, first, last, scratch + at);
#pragma omp simd
    for (std::int64_t i = at; i < at + p.windows.inner; ++i) {
      x_grad[i] = factor * x[i] * x_grad[i] + out_grad[i] * math::pow(scratch[i], power);
    }
  });
}

template void window_sums<float>(const ChannelWindows&, const float*, float*);
template void window_sums<double>(const ChannelWindows&, const double*, double*);
template void lrn<float>(const Lrn&, const float*, float*, float*);
template void lrn<double>(const Lrn&, const double*, double*, double*);
template void lrn_grad<float>(const Lrn&, const float*, const float*, float*, float*);
template void lrn_grad<double>(const Lrn&, const double*, const double*, double*, double*);

}  // namespace fluidcore::cpu
