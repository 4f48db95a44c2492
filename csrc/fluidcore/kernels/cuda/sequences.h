#pragma once

#include <cstdint>
#include <type_traits>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/cumsum.h"
#include "fluidcore/kernels/cpu/linear_recurrence.h"
#include "fluidcore/kernels/cuda/launch.h"

// Sequences along the middle dimension of tensors [outer, count, inner], each walked by one thread,
// in float64; see kernels/cpu/cumsum.h and linear_recurrence.h.

namespace fluidcore::cuda {

// One step of a walk.
struct SequenceStep {
  std::int64_t at;  // of the element
  bool begins;      // the walk
  bool ends;
};

// Calls f(step) for the elements of a sequence, from the first or from the last.
template <class F>
FC_HOST_DEVICE void walk(const cpu::Sequences& s,
                         std::int64_t sequence,
                         bool backwards,
                         const F& f) {
  const std::int64_t outer = sequence / s.inner;
  const std::int64_t first = outer * s.count * s.inner + (sequence - outer * s.inner);
  for (std::int64_t i = 0; i < s.count; ++i) {
    const std::int64_t row = backwards ? s.count - 1 - i : i;
    f(SequenceStep{first + row * s.inner, i == 0, i == s.count - 1});
  }
}

// Sums or products of all elements up to each one.
struct Cumulate {
  cpu::Sequences s;
  bool is_product;
  bool exclusive;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index sequence, const T* x, T* out) const {
    using C = ComputeType<T>;
    using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
    Total total = is_product ? Total(1) : Total(0);
    walk(s, sequence, s.reverse, [&](const SequenceStep& step) {
      const Total before = total;
      const auto value = static_cast<Total>(static_cast<C>(x[step.at]));
      total = is_product ? total * value : total + value;
      out[step.at] = static_cast<T>(static_cast<C>(exclusive ? before : total));
    });
  }
};

struct LinearRecurrence {
  cpu::Sequences s;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index sequence, const T* x, const T* y, T* out) const {
    double state = 0;
    walk(s, sequence, s.reverse, [&](const SequenceStep& step) {
      const double carried = step.begins ? 0.0 : static_cast<double>(x[step.at]) * state;
      state = carried + static_cast<double>(y[step.at]);
      out[step.at] = static_cast<T>(state);
    });
  }
};

struct LinearRecurrenceGrad {
  cpu::Sequences s;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(
      Index sequence, const T* x, const T* out, const T* dout, T* dx, T* dy) const {
    const std::int64_t to_front = s.reverse ? s.inner : -s.inner;
    double state = 0;
    walk(s, sequence, !s.reverse, [&](const SequenceStep& step) {
      const double slope = static_cast<double>(dout[step.at]) + state;
      state = step.ends ? 0.0 : static_cast<double>(x[step.at]) * slope;
      if (dx != nullptr) {
        dx[step.at] =
            static_cast<T>(step.ends ? 0.0 : slope * static_cast<double>(out[step.at + to_front]));
      }
      if (dy != nullptr) dy[step.at] = static_cast<T>(slope);
    });
  }
};

struct CumprodGrad {
  cpu::Sequences s;
  bool exclusive;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(
      Index sequence, const T* x, const T* out, const T* dout, T* dx) const {
    const std::int64_t to_product = exclusive ? 0 : s.reverse ? s.inner : -s.inner;
    double state = 0;
    walk(s, sequence, !s.reverse, [&](const SequenceStep& step) {
      const auto grad = static_cast<double>(dout[step.at]);
      const double slope = exclusive ? state : state + grad;
      state = static_cast<double>(x[step.at]) * slope + (exclusive ? grad : 0.0);
      const double product = step.ends ? 1.0 : static_cast<double>(out[step.at + to_product]);
      dx[step.at] = static_cast<T>(slope * product);
    });
  }
};

}  // namespace fluidcore::cuda
