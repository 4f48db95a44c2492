#pragma once

#include <cmath>
#include <limits>

#include "fluidcore/base/host_device.h"
#include "fluidcore/kernels/math.h"
#include "fluidcore/kernels/power.h"

namespace fluidcore {

// Formulas of smooth activations, as in functors.h. None overflows or cancels where its result does
// not; at infinity each has its limit, and NaN stays NaN.

// x sigmoid(beta x), and its slope. The limit for a sigmoid of 0 is 0.
struct Swish {
  double beta = 1.0;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    const T gate = math::sigmoid(static_cast<T>(beta) * x);
    return gate == T(0) ? T(0) : x * gate;
  }
};

struct SwishGrad {
  double beta = 1.0;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T z = math::clamp(static_cast<T>(beta) * x, T(-1000), T(1000));  // no infinity times 0
    const T gate = math::sigmoid(z);
    return dout * gate * (T(1) + z * (T(1) - gate));
  }
};

// tanh(log(1 + e^x)) = above / below, with powers of e^-|x| alone.
template <class T>
struct MishGate {
  T above;
  T below;
  T gap;      // below - above
  T sigmoid;  // of x

  FC_HOST_DEVICE explicit MishGate(T x) {
    const T power = math::exp(-std::abs(x));
    const bool is_negative = x < T(0);
    gap = is_negative ? T(2) : T(2) * power * power;
    above = is_negative ? power * (power + T(2)) : T(1) + T(2) * power;
    below = above + gap;
    sigmoid = (is_negative ? power : T(1)) / (T(1) + power);
  }
};

struct Mish {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    const MishGate<T> gate(x);
    return gate.above == T(0) ? T(0) : x * (gate.above / gate.below);
  }
};

struct MishGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T bounded = math::clamp(x, T(-1000), T(1000));  // no infinity times 0
    const MishGate<T> gate(bounded);
    const T tanh = gate.above / gate.below;
    const T slope = (gate.gap / gate.below) * (T(1) + tanh);  // 1 - tanh^2
    return dout * (tanh + bounded * slope * gate.sigmoid);
  }
};

struct Softplus {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::softplus(x);
  }
};

struct SoftplusGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return dout * math::sigmoid(x);
  }
};

struct SoftRelu {
  double threshold;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::softplus(math::clamp(x, static_cast<T>(-threshold), static_cast<T>(threshold)));
  }
};

struct SoftReluGrad {
  double threshold;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return std::abs(x) < static_cast<T>(threshold) ? dout * math::sigmoid(x) : T(0);
  }
};

struct LogSigmoid {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return -math::softplus(-x);
  }
};

struct LogSigmoidGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return dout * math::sigmoid(-x);
  }
};

struct Softsign {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    constexpr T kLargest = std::numeric_limits<T>::max();
    const T bounded = math::clamp(x, -kLargest, kLargest);
    return bounded / (T(1) + std::abs(bounded));
  }
};

struct SoftsignGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T size = T(1) + std::abs(x);
    return dout / size / size;
  }
};

struct ScaledTanh {
  double scale_a;
  double scale_b;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(scale_b) * math::tanh(static_cast<T>(scale_a) * x);
  }
};

struct ScaledTanhGrad {
  double scale_a;
  double scale_b;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T t = math::tanh(static_cast<T>(scale_a) * x);
    return dout * static_cast<T>(scale_a * scale_b) * (T(1) - t * t);
  }
};

struct TanhShrink {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::tanh_shrink(x);
  }
};

struct TanhShrinkGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T t = math::tanh(x);
    return dout * t * t;
  }
};

struct Elu {
  double alpha;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    const T negative = x > T(0) ? T(0) : x;
    const T t = math::tanh(T(0.5) * negative);
    const T expm1 = T(2) * t / (T(1) - t);
    return (x > T(0) ? x : T(0)) + static_cast<T>(alpha) * expm1;
  }
};

struct EluGrad {  // alpha at 0
  double alpha;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T power = math::exp(x > T(0) ? T(0) : x);
    return dout * (x > T(0) ? T(1) : static_cast<T>(alpha)) * power;
  }
};

struct Reciprocal {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return T(1) / x;
  }
};

struct ReciprocalGrad {  // from the output
  template <class T>
  FC_HOST_DEVICE T operator()(T out, T dout) const {
    return -dout * out * out;
  }
};

struct Power {
  double factor;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::pow(x, static_cast<T>(factor));
  }
};

struct SmallPower {  // see math::is_small_power()
  double factor;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::small_power(x, static_cast<int>(2.0 * factor));
  }
};

struct PowerGrad {  // 0 for an exponent of 0, also at x = 0
  double factor;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const double exponent = factor == 0.0 ? 0.0 : factor - 1.0;
    return dout * static_cast<T>(factor) * math::pow(x, static_cast<T>(exponent));
  }
};

struct SmallPowerGrad {
  double factor;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const double exponent = factor == 0.0 ? 0.0 : factor - 1.0;
    return dout * static_cast<T>(factor) * math::small_power(x, static_cast<int>(2.0 * exponent));
  }
};

}  // namespace fluidcore
