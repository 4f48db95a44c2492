#pragma once

#include <cmath>

#include "fluidcore/base/host_device.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore {

// Losses of one element, and their derivatives by each input times the incoming gradient `dout`, as
// in functors.h. T is float or double.

namespace detail {

template <class T>
FC_HOST_DEVICE T clipped(T x, T low, T high) {
  return x < low ? low : (x > high ? high : x);
}

// 1 / (1 + e^-x) - label, with all its digits where that is near 0.
template <class T>
FC_HOST_DEVICE T sigmoid_minus(T x, T label) {
  const T e = math::exp(-std::abs(x));
  const T tail = e / (T(1) + e);
  return x > T(0) ? (T(1) - label) - tail : tail - label;
}

}  // namespace detail

struct HingeLoss {
  template <class T>
  FC_HOST_DEVICE T operator()(T logit, T label) const {
    const T loss = margin(logit, label);
    return loss < T(0) ? T(0) : loss;
  }
  template <class T>
  FC_HOST_DEVICE static T margin(T logit, T label) {
    return T(1) - (T(2) * label - T(1)) * logit;
  }
};

struct HingeLossGradLogits {
  template <class T>
  FC_HOST_DEVICE T operator()(T logit, T label, T dout) const {
    return HingeLoss::margin(logit, label) > T(0) ? (T(1) - T(2) * label) * dout : T(0);
  }
};

struct HingeLossGradLabels {
  template <class T>
  FC_HOST_DEVICE T operator()(T logit, T label, T dout) const {
    return HingeLoss::margin(logit, label) > T(0) ? T(-2) * logit * dout : T(0);
  }
};

struct HuberResidual {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    return y - x;
  }
};

struct HuberLoss {
  double delta;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    const T size = std::abs(y - x);
    const T limit = static_cast<T>(delta);
    return size > limit ? limit * (size - T(0.5) * limit) : T(0.5) * size * size;
  }
};

struct HuberLossGradY {
  double delta;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return detail::clipped(y - x, static_cast<T>(-delta), static_cast<T>(delta)) * dout;
  }
};

struct HuberLossGradX {
  double delta;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return -HuberLossGradY{delta}(x, y, dout);
  }
};

struct LogLoss {
  double epsilon;
  template <class T>
  FC_HOST_DEVICE T operator()(T p, T label) const {
    const T e = static_cast<T>(epsilon);
    return -label * math::log(p + e) - (T(1) - label) * math::log(T(1) - p + e);
  }
};

struct LogLossGradPredicted {
  double epsilon;
  template <class T>
  FC_HOST_DEVICE T operator()(T p, T label, T dout) const {
    const T e = static_cast<T>(epsilon);
    return dout * ((T(1) - label) / (T(1) - p + e) - label / (p + e));
  }
};

struct LogLossGradLabels {
  double epsilon;
  template <class T>
  FC_HOST_DEVICE T operator()(T p, T /*label*/, T dout) const {
    const T e = static_cast<T>(epsilon);
    return dout * (math::log(T(1) - p + e) - math::log(p + e));
  }
};

struct MarginRankLoss {
  double margin;
  template <class T>
  FC_HOST_DEVICE T operator()(T x1, T x2, T label) const {
    const T loss = before_limit(x1, x2, label);
    return loss < T(0) ? T(0) : loss;
  }
  template <class T>
  FC_HOST_DEVICE T before_limit(T x1, T x2, T label) const {
    return static_cast<T>(margin) - label * (x1 - x2);
  }
};

struct MarginRankActivated {
  double margin;
  template <class T>
  FC_HOST_DEVICE T operator()(T x1, T x2, T label) const {
    return MarginRankLoss{margin}.before_limit(x1, x2, label) > T(0) ? T(1) : T(0);
  }
};

struct MarginRankLossGradX1 {
  double margin;
  template <class T>
  FC_HOST_DEVICE T operator()(T x1, T x2, T label, T dout) const {
    return MarginRankActivated{margin}(x1, x2, label) * -label * dout;
  }
};

struct MarginRankLossGradX2 {
  double margin;
  template <class T>
  FC_HOST_DEVICE T operator()(T x1, T x2, T label, T dout) const {
    return MarginRankActivated{margin}(x1, x2, label) * label * dout;
  }
};

struct MarginRankLossGradLabel {
  double margin;
  template <class T>
  FC_HOST_DEVICE T operator()(T x1, T x2, T label, T dout) const {
    return MarginRankActivated{margin}(x1, x2, label) * (x2 - x1) * dout;
  }
};

struct SignedPrediction {  // x for a label of 1, -x for one of 0
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T label) const {
    return (T(2) * label - T(1)) * x;
  }
};

struct ModifiedHuberLoss {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T label) const {
    const T z = SignedPrediction()(x, label);
    const T short_of_1 = z > T(1) ? T(0) : T(1) - z;
    return z < T(-1) ? T(-4) * z : short_of_1 * short_of_1;
  }
  template <class T>
  FC_HOST_DEVICE static T slope(T z) {
    return T(-2) * detail::clipped(T(1) - z, T(0), T(2));
  }
};

struct ModifiedHuberLossGradX {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T label, T dout) const {
    const T z = SignedPrediction()(x, label);
    return ModifiedHuberLoss::slope(z) * (T(2) * label - T(1)) * dout;
  }
};

struct ModifiedHuberLossGradY {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T label, T dout) const {
    const T z = SignedPrediction()(x, label);
    return ModifiedHuberLoss::slope(z) * T(2) * x * dout;
  }
};

struct SigmoidCrossEntropy {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T label) const {
    const T above = x > T(0) ? x : T(0);
    return above - x * label + math::short_log1p(math::exp(-std::abs(x)));
  }
};

struct SigmoidCrossEntropyGradX {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T label, T dout) const {
    return detail::sigmoid_minus(x, label) * dout;
  }
};

struct SigmoidCrossEntropyGradLabel {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T /*label*/, T dout) const {
    return -x * dout;
  }
};

struct RankLoss {
  template <class T>
  FC_HOST_DEVICE T operator()(T label, T left, T right) const {
    return SigmoidCrossEntropy()(left - right, label);
  }
};

struct RankLossGradLabel {
  template <class T>
  FC_HOST_DEVICE T operator()(T /*label*/, T left, T right, T dout) const {
    return (right - left) * dout;
  }
};

struct RankLossGradLeft {
  template <class T>
  FC_HOST_DEVICE T operator()(T label, T left, T right, T dout) const {
    return detail::sigmoid_minus(left - right, label) * dout;
  }
};

struct RankLossGradRight {
  template <class T>
  FC_HOST_DEVICE T operator()(T label, T left, T right, T dout) const {
    return -detail::sigmoid_minus(left - right, label) * dout;
  }
};

struct KlDiv {  // 0 for a target of 0
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T target) const {
    return target > T(0) ? target * (math::log(target) - x) : T(0);
  }
};

struct KlDivGradX {
  template <class T>
  FC_HOST_DEVICE T operator()(T /*x*/, T target, T dout) const {
    return target > T(0) ? -target * dout : T(0);
  }
};

struct KlDivGradTarget {  // 0 for a target of 0, where the loss ends
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T target, T dout) const {
    return target > T(0) ? (math::log(target) + T(1) - x) * dout : T(0);
  }
};

}  // namespace fluidcore
