#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "fluidcore/base/host_device.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore::math {

// Powers and remainders. Those of double are the C library's.

namespace detail {

FC_HOST_DEVICE inline bool is_whole(float x) {
  constexpr float kRound = 0x1p23f;  // adding it rounds to the nearest whole number
  const float magnitude = std::abs(x);
  return (magnitude >= kRound) | ((magnitude + kRound) - kRound == magnitude);
}

}  // namespace detail

// x^y within 1 unit in the last place, with the limits of C's pow. Without && and ||, which would
// branch.
FC_HOST_DEVICE inline float pow(float x, float y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const float magnitude = std::abs(x);
  // In float64, where no float is subnormal and no result of a float is, with series of as many
  // terms as a float needs.
  const double log = detail::log_of_normal<11>(static_cast<double>(magnitude), 0.0);
  const detail::Reduced reduced =
      detail::reduce(clamp(static_cast<double>(y) * log, -200.0, 200.0));
  const double power =
      (1.0 + detail::short_expm1<8>(reduced.r)) * detail::power_of_two(reduced.n, 0);
  const bool is_infinite = magnitude == kInfinity;
  const float end = y * kInfinity;  // NaN for NaN
  const float of_infinity = end < 0.0f ? 0.0f : end;
  const float of_zero = end > 0.0f ? 0.0f : -end;
  const float not_one = ((magnitude == 1.0f) & (y == y)) ? 1.0f : static_cast<float>(power);
  const float not_zero = is_infinite ? of_infinity : not_one;
  const float finite = magnitude == 0.0f ? of_zero : not_zero;
  const bool whole = detail::is_whole(y);
  const bool odd = whole & !detail::is_whole(0.5f * y);
  const bool negative = (std::bit_cast<std::uint32_t>(x) >> 31) != 0;
  const float value = (odd & negative) ? -finite : finite;
  const bool undefined = (x != x) | ((x < 0.0f) & !is_infinite & !whole);
  const float defined = undefined ? kNaN : value;
  return ((y == 0.0f) | (x == 1.0f)) ? 1.0f : defined;
}
FC_HOST_DEVICE inline double pow(double x, double y) {
  return std::pow(x, y);
}

// Whether small_power() can: 2 y is one of 0, 1, ..., 7.
constexpr bool is_small_power(double y) {
  return y >= 0.0 && y <= 3.5 && static_cast<double>(static_cast<int>(2.0 * y)) == 2.0 * y;
}

// x^(halves / 2) as a product of x and its root, within 2 units in the last place, with the limits
// of C's pow.
template <class T>
FC_HOST_DEVICE T small_power(T x, int halves) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool has_root = (halves & 1) != 0;
  // The root of -infinity counts as infinity, and that of -0 as 0.
  const T base = has_root ? (x == -kInfinity ? kInfinity : x + T(0)) : x;
  const double root = has_root ? static_cast<double>(std::sqrt(base)) : 1.0;
  const double factor = (halves & 2) != 0 ? static_cast<double>(base) : 1.0;
  const double square =
      (halves & 4) != 0 ? static_cast<double>(base) * static_cast<double>(base) : 1.0;
  return static_cast<T>(root * factor * square);
}

// x = whole y + left: the quotient toward zero, and a rest of the sign of x.
struct Division {
  double whole;
  float left;
};

// Whether divide() can: y is finite, and the quotient has no more than 29 bits.
FC_HOST_DEVICE inline bool can_divide(float x, float y) {
  const double ratio = static_cast<double>(x) / static_cast<double>(y);
  return std::abs(ratio) < 0x1p29 && std::abs(y) <= std::numeric_limits<float>::max();
}

// Exact.
FC_HOST_DEVICE inline Division divide(float x, float y) {
  const double ratio = static_cast<double>(x) / static_cast<double>(y);
  // 29 and 24 bits: the product is exact. The ratio may have been rounded up to a whole number.
  const double magnitude = std::abs(static_cast<double>(y));
  const double whole = std::trunc(std::abs(ratio));
  const double left = std::abs(static_cast<double>(x)) - whole * magnitude;
  const bool is_above = left < 0.0;
  const double rest = is_above ? left + magnitude : left;
  return {std::copysign(is_above ? whole - 1.0 : whole, ratio),
          std::copysign(static_cast<float>(rest), x)};
}

// What is left of x when y is taken away a whole number of times, of the sign of x; exact.
FC_HOST_DEVICE inline float fmod(float x, float y) {
  return can_divide(x, y) ? divide(x, y).left : std::fmod(x, y);
}
FC_HOST_DEVICE inline double fmod(double x, double y) {
  return std::fmod(x, y);
}

}  // namespace fluidcore::math
