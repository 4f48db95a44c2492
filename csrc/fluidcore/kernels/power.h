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
  const double magnitude = std::abs(x);
  // Series of as many terms as a float needs.
  const double of_log = exp<9>(static_cast<double>(y) * log<double, 13>(magnitude));
  const double power = ((magnitude == 1.0) & (y == y)) ? 1.0 : of_log;
  const bool whole = detail::is_whole(y);
  const bool odd = whole & !detail::is_whole(0.5f * y);
  const bool negative = (std::bit_cast<std::uint32_t>(x) >> 31) != 0;
  const auto value = static_cast<float>((odd & negative) ? -power : power);
  const bool undefined = (x < 0.0f) & (x >= std::numeric_limits<float>::lowest()) & !whole;
  const float defined = undefined ? std::numeric_limits<float>::quiet_NaN() : value;
  return ((y == 0.0f) | (x == 1.0f)) ? 1.0f : defined;
}
FC_HOST_DEVICE inline double pow(double x, double y) {
  return std::pow(x, y);
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
