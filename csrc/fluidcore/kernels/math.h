#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "fluidcore/base/host_device.h"

namespace fluidcore::math {

// Functions for formulas. They have no branches and no table, so that loops that call them are
// vectorized; only erf for double is the C library's.

namespace detail {

// x = n log(2) + r, with n whole and |r| <= log(2) / 2.
struct Reduced {
  double r;
  std::uint64_t n;  // modulo 2^51
};

FC_HOST_DEVICE inline Reduced reduce(double x) {
  constexpr double kRound = 0x1.8p52;            // adding it rounds to the nearest whole number
  constexpr double kLog2High = 0x1.62e42feep-1;  // short, so that n * kLog2High is exact
  constexpr double kLog2Low = 0x1.a39ef35793c76p-33;
  const double shifted = x * 0x1.71547652b82fep0 + kRound;
  const double n = shifted - kRound;
  return {(x - n * kLog2High) - n * kLog2Low, std::bit_cast<std::uint64_t>(shifted)};
}

// 1/k! + r/(k + 1)! + ... + r^n/last!, unrolled.
template <int k, int last>
FC_HOST_DEVICE double factorial_series(double r) {
  constexpr double kCoefficient = [] {
    double factorial = 1;
    for (int i = 2; i <= k; ++i) factorial *= i;
    return 1 / factorial;
  }();
  if constexpr (k == last) {
    return kCoefficient;
  } else {
    return kCoefficient + r * factorial_series<k + 1, last>(r);
  }
}

// e^r - 1 on |r| <= log(2) / 2: the Taylor series, within r^(last + 1) / (last + 1)!.
template <int last = 13>
FC_HOST_DEVICE double short_expm1(double r) {
  return r + r * r * factorial_series<2, last>(r);
}

// 2^(n - bias) for a number n of at most 11 bits that gives a normal result.
FC_HOST_DEVICE inline double power_of_two(std::uint64_t n, std::uint64_t bias) {
  return std::bit_cast<double>((n - bias + 1023u) << 52);
}

// 1/k + z/(k + 2) + ... + z^n/last, unrolled.
template <int k, int last, class T>
FC_HOST_DEVICE T artanh_series(T z) {
  if constexpr (k == last) {
    return T(1) / T(k);
  } else {
    return T(1) / T(k) + z * artanh_series<k + 2, last>(z);
  }
}

// k + z/(k + 2 + z/(... + z/last)), unrolled.
template <int k, int last, class T>
FC_HOST_DEVICE T odd_fraction(T z) {
  if constexpr (k == last) {
    return T(k);
  } else {
    return T(k) + z / odd_fraction<k + 2, last>(z);
  }
}

}  // namespace detail

namespace detail {

// e^x = (1 + expm1) 2^n.
template <class T, class Bits>
struct Exponential {
  T expm1;
  Bits n;  // its lowest bits: 12, of float 9
};

// |x| may be 746.
FC_HOST_DEVICE inline Exponential<double, std::uint64_t> exponential(double x) {
  const Reduced reduced = reduce(x);
  return {short_expm1<>(reduced.r), reduced.n};
}

// |x| may be 104.
FC_HOST_DEVICE inline Exponential<float, std::uint32_t> exponential(float x) {
  constexpr float kRound = 0x1.8p23f;        // adding it rounds to the nearest whole number
  constexpr float kLog2High = 0x1.62e4p-1f;  // short, so that n * kLog2High is exact
  constexpr float kLog2Low = 0x1.7f7d1cp-20f;
  const float shifted = x * 0x1.715476p0f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLog2High) - n * kLog2Low;
  // The Taylor series of (e^r - 1 - r) / r^2 on |r| <= log(2) / 2, degree 5.
  float tail = 1.0f / 5040.0f;
  tail = tail * r + 1.0f / 720.0f;
  tail = tail * r + 1.0f / 120.0f;
  tail = tail * r + 1.0f / 24.0f;
  tail = tail * r + 1.0f / 6.0f;
  tail = tail * r + 0.5f;
  return {r + r * r * tail, std::bit_cast<std::uint32_t>(shifted)};
}

}  // namespace detail

// Within 1 unit in the last place; 0 below -746, infinity above 709.79, NaN for NaN.
FC_HOST_DEVICE inline double exp(double x) {
  double bounded = x > 710.0 ? 710.0 : x;
  bounded = bounded < -746.0 ? -746.0 : bounded;
  const auto power = detail::exponential(bounded);
  // 2^n in two factors, because n = 1024 and n < -1022 are outside the range of one.
  const std::uint64_t bits = (power.n + 2048u) & 0xfffu;
  const std::uint64_t half = bits >> 1;  // floor((n + 2048) / 2)
  const double value = 1.0 + power.expm1;
  return value * detail::power_of_two(half, 1024) * detail::power_of_two(bits - half, 1024);
}

// Within 2 units in the last place; 0 below -104, infinity above 88.73, NaN for NaN.
FC_HOST_DEVICE inline float exp(float x) {
  float bounded = x > 89.0f ? 89.0f : x;
  bounded = bounded < -104.0f ? -104.0f : bounded;
  const auto power = detail::exponential(bounded);
  const float value = 1.0f + power.expm1;
  // 2^n in two factors, because n = 128 and n < -126 are outside the range of one.
  const std::uint32_t bits = power.n + 256u;
  const std::uint32_t half = (bits & 0x1ffu) >> 1;  // floor((n + 256) / 2)
  const std::uint32_t rest = (bits & 0x1ffu) - half;
  const float scale_a = std::bit_cast<float>((half - 128u + 127u) << 23);
  const float scale_b = std::bit_cast<float>((rest - 128u + 127u) << 23);
  return value * scale_a * scale_b;
}

// Within 3 units in the last place.
FC_HOST_DEVICE inline double tanh(double x) {
  const double magnitude = std::abs(x);
  // e^44 is as good as infinity here.
  const detail::Reduced reduced = detail::reduce(2.0 * (magnitude > 22.0 ? 22.0 : magnitude));
  const double scale = detail::power_of_two(reduced.n & 0x7fu, 0);
  const double expm1 = scale * detail::short_expm1<>(reduced.r) + (scale - 1.0);
  return std::copysign(expm1 / (expm1 + 2.0), x);
}

// Within 2 units in the last place.
FC_HOST_DEVICE inline float tanh(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  const float large = 1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f);
  // (tanh(x) / x - 1) / x^2 as a polynomial of x^2, fitted to |x| < 0.63: there the formula above
  // loses digits.
  const float z = x * x;
  float ratio = -0.00566078046f;
  ratio = ratio * z + 0.0206019992f;
  ratio = ratio * z - 0.053729227f;
  ratio = ratio * z + 0.133313289f;
  ratio = ratio * z - 0.333332783f;
  const float small = x + x * z * ratio;
  return std::copysign(magnitude < 0.625f ? small : large, x);  // zero keeps its sign
}

FC_HOST_DEVICE inline double erf(double x) {
  return std::erf(x);
}

// Within 2 units in the last place.
FC_HOST_DEVICE inline float erf(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  // log(1 - erf(t)) as a polynomial, fitted to 0.95 <= t <= 4; beyond, erf is 1 in float.
  const float t = magnitude > 4.0f ? 4.0f : magnitude;
  float power = 0.000191505033f;
  power = power * t - 0.00299954905f;
  power = power * t + 0.0220520291f;
  power = power * t - 0.103566955f;
  power = power * t - 0.637599971f;
  power = power * t - 1.12742613f;
  power = power * t - 0.000256436639f;
  const float large = 1.0f - exp(power);
  // erf(x) / x - 1 as a polynomial of x^2, fitted to |x| <= 1.
  const float z = x * x;
  float ratio = 7.88911953e-05f;
  ratio = ratio * z - 0.000802084128f;
  ratio = ratio * z + 0.00518953534f;
  ratio = ratio * z - 0.0268544446f;
  ratio = ratio * z + 0.112836002f;
  ratio = ratio * z - 0.376126271f;
  ratio = ratio * z + 0.128379166f;
  const float small = x + x * ratio;
  const float signed_large = x < 0.0f ? -large : large;
  return magnitude < 1.0f ? small : signed_large;
}

// P(N(0, 1) > x) for x >= 0.
FC_HOST_DEVICE inline double normal_tail(double x) {
  return 0.5 * std::erfc(x * 0.70710678118654752440);
}

// So that 1 minus it is within 2 units in the last place; by itself within 5e-6, and 0 from 6 on
// and for NaN.
FC_HOST_DEVICE inline float normal_tail(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to the nearest whole number
  // Its logarithm to base 2, as a polynomial fitted to 0 <= x <= 6.
  float power = -1.9569320e-08f;
  power = power * x + 6.2616727e-07f;
  power = power * x - 8.5442871e-06f;
  power = power * x + 6.2911480e-05f;
  power = power * x - 0.00023566329f;
  power = power * x - 8.4135943e-05f;
  power = power * x + 0.0070388317f;
  power = power * x - 0.052494690f;
  power = power * x - 0.45920655f;
  power = power * x - 1.1511054f;
  power = power * x - 1.0f;
  // 2^power = 2^n 2^r, with n whole and |r| <= 1 / 2.
  const float shifted = power + kRound;
  const float r = power - (shifted - kRound);
  float value = 0.00015327806f;
  value = value * r + 0.0013396485f;
  value = value * r + 0.0096185319f;
  value = value * r + 0.055503406f;
  value = value * r + 0.24022648f;
  value = value * r + 0.69314718f;
  value = value * r + 1.0f;
  const std::uint32_t bits =
      std::bit_cast<std::uint32_t>(value) + (std::bit_cast<std::uint32_t>(shifted) << 23);
  return x < 6.0f ? std::bit_cast<float>(bits) : 0.0f;
}

namespace detail {

// 1 / (1 + e^-x). Below -shift, where e^-x may overflow and the result is not 0 yet, both parts of
// the quotient are times 2^-shift. x must be in the range in which 2^n is then a normal number.
template <class T, class Bits>
FC_HOST_DEVICE T sigmoid(T x, Bits shift, Bits bias, int mantissa) {
  const Exponential<T, Bits> power = exponential(-x);
  const Bits lower = x < -static_cast<T>(shift) ? shift : 0;
  const T one = std::bit_cast<T>((bias - lower) << mantissa);
  const T scale = std::bit_cast<T>((power.n + bias - lower) << mantissa);
  const T sum = one + scale;
  const T lost = one - (sum - scale);
  return one / (sum + (lost + scale * power.expm1));
}

}  // namespace detail

// Within 2 units in the last place, subnormal results too; NaN for NaN.
FC_HOST_DEVICE inline double sigmoid(double x) {
  const double bounded = x > 708.0 ? 708.0 : x;
  return detail::sigmoid<double, std::uint64_t>(bounded < -746.0 ? -746.0 : bounded, 512, 1023, 52);
}
FC_HOST_DEVICE inline float sigmoid(float x) {
  const float bounded = x > 87.0f ? 87.0f : x;
  return detail::sigmoid<float, std::uint32_t>(bounded < -104.0f ? -104.0f : bounded, 64, 127, 23);
}

// The number of [low, high] nearest to x; NaN for NaN.
template <class T>
FC_HOST_DEVICE T clamp(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

namespace detail {

// log(2^n x) for a positive number x that is neither subnormal nor infinite. Within
// 0.03^((last + 1) / 2) / last of itself.
template <int last, class T>
FC_HOST_DEVICE T log_of_normal(T x, T n) {
  using Bits = std::conditional_t<sizeof(T) == sizeof(float), std::uint32_t, std::uint64_t>;
  using Exponent = std::make_signed_t<Bits>;
  constexpr int kDigits = std::numeric_limits<T>::digits - 1;
  constexpr Bits kSqrtHalf = std::bit_cast<Bits>(T(0.70710678118654752440));
  // Short, so that its multiples are exact.
  constexpr T kLog2High = sizeof(T) == sizeof(float) ? T(0x1.62e4p-1) : T(0x1.62e42feep-1);
  constexpr T kLog2Low = sizeof(T) == sizeof(float) ? T(0x1.7f7d1cp-20) : T(0x1.a39ef35793c76p-33);
  // x = 2^k m with sqrt(1/2) <= m < sqrt(2).
  const Bits above = std::bit_cast<Bits>(x) - kSqrtHalf;
  const auto k = static_cast<T>(static_cast<Exponent>(above) >> kDigits) + n;
  const T m = std::bit_cast<T>((above & ((Bits{1} << kDigits) - 1)) + kSqrtHalf);
  // log(m) = f - f^2/2 + s (f^2/2 + z (2/3 + 2/5 z + ...)), with s = f / (2 + f) and z = s^2.
  const T f = m - T(1);
  const T s = f / (T(2) + f);
  const T z = s * s;
  const T half = T(0.5) * f * f;
  const T tail = s * (half + T(2) * z * artanh_series<3, last>(z));
  return k * kLog2High - ((half - (tail + k * kLog2Low)) - f);
}

}  // namespace detail

// Within 1 unit in the last place, subnormal numbers too; NaN below 0.
template <class T>
FC_HOST_DEVICE T log(T x) {
  constexpr int kDigits = std::numeric_limits<T>::digits - 1;
  constexpr int kLast = sizeof(T) == sizeof(float) ? 11 : 23;
  const bool tiny = x < std::numeric_limits<T>::min();
  const T normal = tiny ? x * (T(1) / std::numeric_limits<T>::epsilon()) : x;
  const T value = detail::log_of_normal<kLast>(normal, tiny ? -T(kDigits) : T(0));
  const T finite = x < std::numeric_limits<T>::infinity() ? value : x;  // also NaN
  const T positive = x < T(0) ? std::numeric_limits<T>::quiet_NaN() : finite;
  return x == T(0) ? -std::numeric_limits<T>::infinity() : positive;
}

// log(1 + x) for 0 <= x <= 1, within 2 units in the last place.
template <class T>
FC_HOST_DEVICE T short_log1p(T x) {
  const T s = x / (T(2) + x);
  constexpr int kLast = sizeof(T) == sizeof(float) ? 15 : 33;
  return T(2) * s * detail::artanh_series<1, kLast>(s * s);  // 2 artanh(s), and s <= 1 / 3
}

// log(1 + e^x).
template <class T>
FC_HOST_DEVICE T softplus(T x) {
  const T positive = x < T(0) ? T(0) : x;
  return positive + short_log1p(exp(-std::abs(x)));
}

// x - tanh(x), without the cancellation near 0.
template <class T>
FC_HOST_DEVICE T tanh_shrink(T x) {
  constexpr int kLast = sizeof(T) == sizeof(float) ? 11 : 17;
  const T z = x * x;
  const T small = x * (z / (z + detail::odd_fraction<3, kLast>(z)));  // Lambert's fraction
  return std::abs(x) < T(1) ? small : x - tanh(x);
}

}  // namespace fluidcore::math
