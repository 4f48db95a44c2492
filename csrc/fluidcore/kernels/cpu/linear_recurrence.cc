#include "fluidcore/kernels/cpu/linear_recurrence.h"

#include <algorithm>
#include <array>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

// Sequences that are walked together, so that elements side by side are read together.
constexpr std::int64_t kColumns = 256;

using State = std::array<double, kColumns>;

template <class T>
double number(T x) {
  return static_cast<double>(static_cast<ComputeType<T>>(x));
}

template <class T>
T rounded(double x) {
  return static_cast<T>(static_cast<ComputeType<T>>(x));
}

// Calls step(state, at, before, width) for every element of up to kColumns sequences, from their
// first to their last, or backwards: `width` elements from `at` on, `before` those of the step
// before, -1 at first.
template <class F>
void walk(const Sequences& s, bool backwards, const F& step) {
  const std::int64_t width = std::min(s.inner, kColumns);
  if (s.outer * s.count * s.inner == 0) return;
  const std::int64_t strips = (s.inner + width - 1) / width;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (s.count * width));
  parallel_for(s.outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip) {
      const std::int64_t column = strip % strips * width;
      const std::int64_t start = strip / strips * s.count * s.inner + column;
      State state;
      std::int64_t before = -1;
      for (std::int64_t i = 0; i < s.count; ++i) {
        const std::int64_t at = start + (backwards ? s.count - 1 - i : i) * s.inner;
        step(state, at, before, std::min(width, s.inner - column));
        before = at;
      }
    }
  });
}

}  // namespace

template <class T>
void linear_recurrence(const Sequences& s, const T* x, const T* y, T* out) {
  walk(s, s.reverse, [=](State& state, std::int64_t at, std::int64_t before, std::int64_t width) {
    for (std::int64_t i = 0; i < width; ++i) {
      const double carried = before < 0 ? 0.0 : number(x[at + i]) * state[i];
      state[i] = carried + number(y[at + i]);
      out[at + i] = rounded<T>(state[i]);
    }
  });
}

// `state` is what goes on to the step in front: x times the gradient of out there.
template <class T>
void linear_recurrence_grad(
    const Sequences& s, const T* x, const T* out, const T* dout, T* dx, T* dy) {
  const std::int64_t to_front = s.reverse ? s.inner : -s.inner;
  walk(s, !s.reverse, [=](State& state, std::int64_t at, std::int64_t before, std::int64_t width) {
    const std::int64_t row = at / s.inner % s.count;
    const bool is_first = row == (s.reverse ? s.count - 1 : 0);
    for (std::int64_t i = 0; i < width; ++i) {
      const double slope = number(dout[at + i]) + (before < 0 ? 0.0 : state[i]);
      state[i] = is_first ? 0.0 : number(x[at + i]) * slope;
      const double front = is_first ? 0.0 : number(out[at + i + to_front]);
      if (dx != nullptr) dx[at + i] = rounded<T>(is_first ? 0.0 : slope * front);
      if (dy != nullptr) dy[at + i] = rounded<T>(slope);
    }
  });
}

template void linear_recurrence(const Sequences&, const float*, const float*, float*);
template void linear_recurrence(const Sequences&, const double*, const double*, double*);
template void linear_recurrence(const Sequences&, const Float16*, const Float16*, Float16*);
template void linear_recurrence(const Sequences&, const BFloat16*, const BFloat16*, BFloat16*);
template void linear_recurrence_grad(
    const Sequences&, const float*, const float*, const float*, float*, float*);
template void linear_recurrence_grad(
    const Sequences&, const double*, const double*, const double*, double*, double*);
template void linear_recurrence_grad(
    const Sequences&, const Float16*, const Float16*, const Float16*, Float16*, Float16*);
template void linear_recurrence_grad(
    const Sequences&, const BFloat16*, const BFloat16*, const BFloat16*, BFloat16*, BFloat16*);

}  // namespace fluidcore::cpu
