#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "fluidcore/base/host_device.h"
#include "fluidcore/kernels/math.h"
#include "fluidcore/kernels/power.h"
#include "fluidcore/kernels/trigonometry.h"

namespace fluidcore {

// One scalar formula each, compiled for every device. T is a type to calculate in: float, double
// or, where it makes sense, an integer.

// Integers wrap around instead of overflowing.
template <class T>
struct Wrapping {
  using Type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct Wrapping<T> {
  using Type = std::make_unsigned_t<T>;
};

struct Identity {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return x;
  }
};

struct Negate {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(-static_cast<U>(x));
  }
};

struct Relu {  // keeps NaN
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};

struct ReluGrad {  // from the output; 0 at 0
  template <class T>
  FC_HOST_DEVICE T operator()(T out, T dout) const {
    return out > T(0) ? dout : T(0);
  }
};

struct Sigmoid {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::sigmoid(x);
  }
};

struct SigmoidGrad {  // from the output
  template <class T>
  FC_HOST_DEVICE T operator()(T out, T dout) const {
    return dout * out * (T(1) - out);
  }
};

struct Tanh {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::tanh(x);
  }
};

struct TanhGrad {  // from the output
  template <class T>
  FC_HOST_DEVICE T operator()(T out, T dout) const {
    return dout * (T(1) - out * out);
  }
};

struct Exp {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::exp(x);
  }
};

struct ExpGrad {  // from the output
  template <class T>
  FC_HOST_DEVICE T operator()(T out, T dout) const {
    return dout * out;
  }
};

struct Log {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::log(x);
  }
};

struct LogGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return dout / x;
  }
};

struct Sin {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::sin(x);
  }
};

struct SinGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return dout * math::cos(x);
  }
};

struct Cos {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::cos(x);
  }
};

struct CosGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return -dout * math::sin(x);
  }
};

struct Sqrt {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return std::sqrt(x);
  }
};

struct SqrtGrad {  // from the output
  template <class T>
  FC_HOST_DEVICE T operator()(T out, T dout) const {
    return T(0.5) * dout / out;
  }
};

struct Square {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(x) * static_cast<U>(x));
  }
};

struct SquareGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return T(2) * x * dout;
  }
};

struct Abs {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return x < T(0) ? Negate()(x) : x;
    } else {
      return std::abs(x);
    }
  }
};

struct AbsGrad {  // 0 at 0
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return x > T(0) ? dout : (x < T(0) ? -dout : T(0));
  }
};

struct Sign {  // keeps NaN and zeros
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return x > T(0) ? T(1) : (x < T(0) ? T(-1) : x);
  }
};

struct Erf {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return math::erf(x);
  }
};

struct ErfGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return T(kScale) * math::exp(-x * x) * dout;
  }
  static constexpr double kScale = 1.12837916709551257390;  // 2 / sqrt(pi)
};

struct GeluErf {  // x P(N(0, 1) <= x)
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    const T magnitude = std::abs(x);
    const T missing = magnitude * math::normal_tail(magnitude);
    const T positive = x < T(0) ? T(0) : x;
    return positive - (magnitude < T(40) ? missing : T(0));  // no infinity times 0
  }
};

struct GeluErfGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T tail = math::normal_tail(std::abs(x));
    const T below = x < T(0) ? tail : T(1) - tail;
    const T density = T(kDensity) * math::exp(T(-0.5) * x * x);
    return dout * (below + x * density);
  }
  static constexpr double kDensity = 0.39894228040143267794;  // 1 / sqrt(2 pi)
};

struct GeluTanh {
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return T(0.5) * x * (T(1) + math::tanh(T(kScale) * (x + T(kCubic) * x * x * x)));
  }
  static constexpr double kScale = 0.79788456080286535588;  // sqrt(2 / pi)
  static constexpr double kCubic = 0.044715;
};

struct GeluTanhGrad {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    const T t = math::tanh(T(GeluTanh::kScale) * (x + T(GeluTanh::kCubic) * x * x * x));
    const T slope = T(GeluTanh::kScale) * (T(1) + T(3 * GeluTanh::kCubic) * x * x);
    return dout * T(0.5) * (T(1) + t + x * (T(1) - t * t) * slope);
  }
};

struct Clip {  // keeps NaN
  double min;
  double max;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    const T low = static_cast<T>(min);
    const T high = static_cast<T>(max);
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};

struct ClipGrad {  // passes where min < x < max
  double min;
  double max;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T dout) const {
    return x > static_cast<T>(min) && x < static_cast<T>(max) ? dout : T(0);
  }
};

struct Scale {
  double factor;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(factor) * x;
  }
};

struct ScaleWhole {  // an integer by a whole number, wrapping around
  std::int64_t factor;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(factor) * static_cast<U>(x));
  }
};

struct Add {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(x) + static_cast<U>(y));
  }
};

struct Sub {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(x) - static_cast<U>(y));
  }
};

struct Mul {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(x) * static_cast<U>(y));
  }
};

struct Div {  // integers: toward zero, 0 for a divisor of 0
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      if (y == T(0)) return T(0);
      if (y == T(-1)) return Sub()(T(0), x);  // the lowest / -1 would trap
    }
    return x / y;
  }
};

struct FloorDiv {  // the quotient rounded down; integers: 0 for a divisor of 0
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      const T quotient = Div()(x, y);
      const bool is_exact = y == T(0) || y == T(-1) || quotient * y == x;
      return is_exact || (x < T(0)) == (y < T(0)) ? quotient : quotient - T(1);
    } else {
      if constexpr (std::is_same_v<T, float>) {
        if (is_usual(x, y)) return usual(x, y);
      }
      if (y == T(0)) return x / y;
      // x / y may round up to a whole number; what is left of x tells.
      const T left = math::fmod(x, y);
      const T whole = std::round((x - left) / y);
      return left != T(0) && (left < T(0)) != (y < T(0)) ? whole - T(1) : whole;
    }
  }
  FC_HOST_DEVICE static bool is_usual(float x, float y) { return math::can_divide(x, y); }
  FC_HOST_DEVICE static float usual(float x, float y) {
    const math::Division found = math::divide(x, y);
    const bool is_below = found.left != 0.0f && (found.left < 0.0f) != (y < 0.0f);
    return static_cast<float>(is_below ? found.whole - 1.0 : found.whole);
  }
};

struct Mod {  // what FloorDiv leaves, of the sign of the divisor; integers: 0 for a divisor of 0
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      const T left = y == T(0) || y == T(-1) ? T(0) : x % y;  // the lowest % -1 would trap
      return left != T(0) && (left < T(0)) != (y < T(0)) ? left + y : left;
    } else {
      return signed_as(math::fmod(x, y), y);
    }
  }
  FC_HOST_DEVICE static bool is_usual(float x, float y) { return math::can_divide(x, y); }
  FC_HOST_DEVICE static float usual(float x, float y) {
    return signed_as(math::divide(x, y).left, y);
  }

 private:
  template <class T>
  FC_HOST_DEVICE static T signed_as(T left, T y) {
    const T moved = (left < T(0)) != (y < T(0)) ? left + y : left;
    return left == T(0) ? std::copysign(left, y) : moved;
  }
};

struct ModGradX {
  template <class T>
  FC_HOST_DEVICE T operator()(T /*x*/, T /*y*/, T dout) const {
    return dout;
  }
};

struct ModGradY {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return -dout * FloorDiv()(x, y);
  }
  FC_HOST_DEVICE static bool is_usual(float x, float y, float /*dout*/) {
    return math::can_divide(x, y);
  }
  FC_HOST_DEVICE static float usual(float x, float y, float dout) {
    return -dout * FloorDiv::usual(x, y);
  }
};

struct DivGradX {
  template <class T>
  FC_HOST_DEVICE T operator()(T /*x*/, T y, T dout) const {
    return dout / y;
  }
};

struct DivGradY {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return -dout * (x / y) / y;
  }
};

struct Max {  // NaN if one of the two is
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    return x > y || x != x ? x : y;
  }
};

struct MaxGradX {  // a tie goes to x
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return x < y ? T(0) : dout;
  }
};

struct MaxGradY {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return x < y ? dout : T(0);
  }
};

struct Min {  // NaN if one of the two is
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    return x < y || x != x ? x : y;
  }
};

struct MinGradX {  // a tie goes to x
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return x > y ? T(0) : dout;
  }
};

struct MinGradY {
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return x > y ? dout : T(0);
  }
};

struct Pow {  // integers wrap around; a negative power of them is the quotient 1 / x^-y, toward
              // zero
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      if (y < T(0) && x != T(1) && x != T(-1)) return T(0);
      using U = typename Wrapping<T>::Type;
      U power = 1;
      U factor = static_cast<U>(x);
      for (U left = static_cast<U>(y); left != 0; left >>= 1, factor *= factor) {
        if (left & 1) power *= factor;  // of 1 and -1 the parity of y decides, also below 0
      }
      return static_cast<T>(power);
    } else {
      return math::pow(x, y);
    }
  }
};

struct PowGradX {  // 0 for an exponent of 0, also at x = 0
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return y == T(0) ? T(0) : dout * y * math::pow(x, y - T(1));
  }
};

struct PowGradY {  // 0 at x = 0 for y >= 0, where the power does not depend on y or has no slope
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T y, T dout) const {
    return x == T(0) && y >= T(0) ? T(0) : dout * math::pow(x, y) * math::log(x);
  }
};

struct Less {
  template <class T>
  FC_HOST_DEVICE bool operator()(T x, T y) const {
    return x < y;
  }
};

struct LessEqual {
  template <class T>
  FC_HOST_DEVICE bool operator()(T x, T y) const {
    return x <= y;
  }
};

struct Equal {
  template <class T>
  FC_HOST_DEVICE bool operator()(T x, T y) const {
    return x == y;
  }
};

struct NotEqual {
  template <class T>
  FC_HOST_DEVICE bool operator()(T x, T y) const {
    return x != y;
  }
};

struct LogicalAnd {  // without a branch, which would not be vectorized
  FC_HOST_DEVICE bool operator()(bool x, bool y) const { return static_cast<bool>(x & y); }
};

struct LogicalOr {
  FC_HOST_DEVICE bool operator()(bool x, bool y) const { return static_cast<bool>(x | y); }
};

struct LogicalXor {
  FC_HOST_DEVICE bool operator()(bool x, bool y) const { return x != y; }
};

struct LogicalNot {
  FC_HOST_DEVICE bool operator()(bool x) const { return !x; }
};

// A number as another type. To bool: whether it is not 0. To an integer: toward zero, the nearest
// limit when out of range, 0 for NaN.
template <class To, class From>
FC_HOST_DEVICE To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<From, bool>) {
    return x ? To(1) : To(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr auto kLowest = static_cast<From>(std::numeric_limits<To>::lowest());
    if (!(x >= kLowest)) return x != x ? To(0) : std::numeric_limits<To>::lowest();
    // The largest integer may not be a floating number; the one above it is.
    return x >= -kLowest ? std::numeric_limits<To>::max() : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

struct ScaleRounding {  // an integer by any factor, toward zero
  double factor;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return convert<T>(factor * static_cast<double>(x));
  }
};

}  // namespace fluidcore
