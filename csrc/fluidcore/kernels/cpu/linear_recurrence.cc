#include "fluidcore/kernels/cpu/linear_recurrence.h"

#include <algorithm>
#include <array>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

// Sequences that are walked together, so that elements side by side are read together.
constexpr std::int64_t kWalkedTogether = 64;

// One element each of sequences that are walked together.
struct Step {
  std::int64_t at;        // the first of them
  std::int64_t width;     // how many
  std::int64_t sequence;  // which sequence the first belongs to
  std::int64_t place;     // of the first, counted in the strip
  bool begins;            // the walk
  bool ends;
};

// Up to `most` sequences side by side.
template <std::int64_t most>
class Strip {
 public:
  Strip(const Sequences& s, std::int64_t strip)
      : s_(s),
        outer_(strip / count(s)),
        column_(strip % count(s) * most),
        width_(most == 1 ? 1 : std::min(most, s.inner - column_)) {}

  static std::int64_t count(const Sequences& s) { return divide_up(s.inner, most); }

  // How many elements there are in strips in front of this one.
  std::int64_t elements_before() const { return s_.count * (outer_ * s_.inner + column_); }

  // Calls f(state, step) from the first elements to the last, or backwards. One sequence alone has
  // its state in a register.
  template <class F>
  void walk(bool backwards, const F& f) const {
    std::array<double, most> state;
    for (std::int64_t i = 0; i < s_.count; ++i) {
      const std::int64_t row = backwards ? s_.count - 1 - i : i;
      f(state, Step{.at = (outer_ * s_.count + row) * s_.inner + column_,
                    .width = most == 1 ? 1 : width_,
                    .sequence = outer_ * s_.inner + column_,
                    .place = row * width_,
                    .begins = i == 0,
                    .ends = i == s_.count - 1});
    }
  }

 private:
  const Sequences& s_;
  std::int64_t outer_;
  std::int64_t column_;
  std::int64_t width_;
};

// Calls f(strip, first) for all strips; `first` is the first one that its thread was given.
template <std::int64_t most, class F>
void for_strips_of(const Sequences& s, const F& f) {
  const std::int64_t grain = kGrain / (s.count * std::min(s.inner, most));
  parallel_for(s.outer * Strip<most>::count(s), std::max<std::int64_t>(grain, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   f(Strip<most>(s, i), Strip<most>(s, begin));
                 }
               });
}

template <class F>
void for_strips(const Sequences& s, const F& f) {
  if (s.outer * s.count * s.inner == 0) return;
  if (s.inner == 1) return for_strips_of<1>(s, f);
  for_strips_of<kWalkedTogether>(s, f);
}

template <class F>
void walk(const Sequences& s, bool backwards, const F& f) {
  for_strips(s, [&](const auto& strip, const auto& /*first*/) { strip.walk(backwards, f); });
}

template <class T>
double number(T x) {
  return static_cast<double>(x);
}

}  // namespace

template <class T>
void linear_recurrence(const Sequences& s, const T* x, const T* y, T* out) {
  walk(s, s.reverse, [=](auto& state, const Step& step) {
    for (std::int64_t i = 0; i < step.width; ++i) {
      const double carried = step.begins ? 0.0 : number(x[step.at + i]) * state[i];
      state[i] = carried + number(y[step.at + i]);
      out[step.at + i] = static_cast<T>(state[i]);
    }
  });
}

// `state` is what goes on to the step in front: x times the gradient of out there.
template <class T>
void linear_recurrence_grad(
    const Sequences& s, const T* x, const T* out, const T* dout, T* dx, T* dy) {
  const std::int64_t to_front = s.reverse ? s.inner : -s.inner;
  walk(s, !s.reverse, [=](auto& state, const Step& step) {
    for (std::int64_t i = 0; i < step.width; ++i) {
      const std::int64_t at = step.at + i;
      const double slope = number(dout[at]) + (step.begins ? 0.0 : state[i]);
      state[i] = step.ends ? 0.0 : number(x[at]) * slope;
      if (dx != nullptr)
        dx[at] = static_cast<T>(step.ends ? 0 : slope * number(out[at + to_front]));
      if (dy != nullptr) dy[at] = static_cast<T>(slope);
    }
  });
}

// `state` is what goes on to the step in front: the gradient of the product up to there.
template <class T>
void cumprod_grad(
    const Sequences& s, bool exclusive, const T* x, const T* out, const T* dout, T* dx) {
  const std::int64_t to_product = exclusive ? 0 : s.reverse ? s.inner : -s.inner;
  walk(s, !s.reverse, [=](auto& state, const Step& step) {
    for (std::int64_t i = 0; i < step.width; ++i) {
      const std::int64_t at = step.at + i;
      const double behind = step.begins ? 0.0 : state[i];
      const double slope = exclusive ? behind : behind + number(dout[at]);
      state[i] = number(x[at]) * slope + (exclusive ? number(dout[at]) : 0.0);
      const double product = step.ends ? 1.0 : number(out[at + to_product]);
      dx[at] = static_cast<T>(slope * product);
    }
  });
}

template <class T>
void product_grad(const Sequences& s, const T* x, const T* dout, double* before, T* dx) {
  for_strips(s, [=](const auto& strip, const auto& first) {
    double* const own = before + first.elements_before();  // the same for all strips of a thread
    strip.walk(false, [=](auto& state, const Step& step) {
#pragma omp simd
      for (std::int64_t i = 0; i < step.width; ++i) {
        const double product = step.begins ? 1.0 : state[i];
        own[step.place + i] = product;
        state[i] = product * number(x[step.at + i]);
      }
    });
    strip.walk(true, [=](auto& state, const Step& step) {
#pragma omp simd
      for (std::int64_t i = 0; i < step.width; ++i) {
        const double behind = step.begins ? 1.0 : state[i];
        state[i] = behind * number(x[step.at + i]);
        dx[step.at + i] =
            static_cast<T>(own[step.place + i] * behind * number(dout[step.sequence + i]));
      }
    });
  });
}

template void linear_recurrence(const Sequences&, const float*, const float*, float*);
template void linear_recurrence(const Sequences&, const double*, const double*, double*);
template void linear_recurrence_grad(
    const Sequences&, const float*, const float*, const float*, float*, float*);
template void linear_recurrence_grad(
    const Sequences&, const double*, const double*, const double*, double*, double*);
template void cumprod_grad(
    const Sequences&, bool, const float*, const float*, const float*, float*);
template void cumprod_grad(
    const Sequences&, bool, const double*, const double*, const double*, double*);
template void product_grad(const Sequences&, const float*, const float*, double*, float*);
template void product_grad(const Sequences&, const double*, const double*, double*, double*);

}  // namespace fluidcore::cpu
