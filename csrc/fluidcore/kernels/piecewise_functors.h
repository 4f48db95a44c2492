#pragma once

#include <cmath>
#include <limits>

#include "fluidcore/base/host_device.h"

namespace fluidcore {

// Formulas of activations with kinks or jumps, and of rounding, as in functors.h: NaN stays
// NaN. And what a number is.

struct LeakyRelu {
  double alpha;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? static_cast<T>(alpha) * x : x;
  }
};

struct LeakyReluGrad {  // alpha at 0
  double alpha;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return x > T(0) ? dout : static_cast<T>(alpha) * dout;
  }
};

struct NegativePart {  // x dout where x is not positive
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return x > T(0) ? T(0) : x * dout;
  }
};

struct ThresholdedRelu {
  double threshold;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return x <= static_cast<T>(threshold) ? T(0) : x;
  }
};

struct ThresholdedReluGrad {
  double threshold;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return x > static_cast<T>(threshold) ? dout : T(0);
  }
};

struct HardSigmoid {
  double slope;
  double offset;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    const T line = static_cast<T>(slope) * x + static_cast<T>(offset);
    const T raised = line < T(0) ? T(0) : line;
    return raised > T(1) ? T(1) : raised;
  }
};

struct HardSigmoidGrad {  // 0 at the kinks
  double slope;
  double offset;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T line = static_cast<T>(slope) * x + static_cast<T>(offset);
    return line > T(0) && line < T(1) ? dout * static_cast<T>(slope) : T(0);
  }
};

struct HardShrink {
  double threshold;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return std::abs(x) <= static_cast<T>(threshold) ? T(0) : x;
  }
};

struct SoftShrink {
  double threshold;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    const T limit = static_cast<T>(threshold);
    return std::abs(x) <= limit ? T(0) : (x < T(0) ? x + limit : x - limit);
  }
};

struct ShrinkGrad {  // of both, 0 at the threshold
  double threshold;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return std::abs(x) > static_cast<T>(threshold) ? dout : T(0);
  }
};

struct Ceil {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return std::ceil(x);
  }
};

struct Floor {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return std::floor(x);
  }
};

struct Round {  // halves to the even number
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return std::rint(x);
  }
};

struct IsNan {
  template <class T>
  FC_HOST_DEVICE bool operator()(T x) const {
    return x != x;
  }
};

struct IsInf {
  template <class T>
  FC_HOST_DEVICE bool operator()(T x) const {
    return std::abs(x) > std::numeric_limits<T>::max();
  }
};

struct IsFinite {
  template <class T>
  FC_HOST_DEVICE bool operator()(T x) const {
    return std::abs(x) <= std::numeric_limits<T>::max();
  }
};

}  // namespace fluidcore
