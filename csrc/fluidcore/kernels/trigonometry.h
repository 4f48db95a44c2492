#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "fluidcore/base/host_device.h"

namespace fluidcore::math {

// Sine and cosine. For float there are no branches, so that loops that call them are vectorized;
// for double they are the C library's.

namespace detail {

// 2/pi = 0.a2f9836e4e44... in base 16: as many digits as the largest float times 2/pi needs to be
// known modulo 4 (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).
inline constexpr std::array<std::uint32_t, 7> kTwoOverPi = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

// 2^shift 2/pi modulo 4, in two parts: multiples of the first by 24 bits are exact.
struct Turns {
  double high;  // the bits of 2 to 2^-27
  double low;   // the 53 bits after those
};

constexpr Turns turns(int shift) {
  const auto bit = [&](int place) {  // of 2^-place, after the shift
    const int index = place + shift - 1;
    if (index < 0) return 0.0;
    return static_cast<double>(
        (kTwoOverPi[static_cast<std::size_t>(index / 32)] >> (31 - index % 32)) & 1u);
  };
  Turns result{0, 0};
  double weight = 2;
  for (int place = -1; place <= 27; ++place, weight /= 2) result.high += bit(place) * weight;
  for (int place = 28; place <= 80; ++place, weight /= 2) result.low += bit(place) * weight;
  return result;
}

inline constexpr int kShifts = 105;  // of a float of 24 bits, up to 2^104

constexpr std::array<Turns, kShifts> all_turns() {
  std::array<Turns, kShifts> result{};
  for (int shift = 0; shift < kShifts; ++shift)
    result[static_cast<std::size_t>(shift)] = turns(shift);
  return result;
}

// sin(x + quadrants pi/2).
FC_HOST_DEVICE inline float sin_of(float x, int quadrants) {
  static constexpr std::array<Turns, kShifts> kTurns = all_turns();
  constexpr double kRound = 0x1.8p52;  // adding it rounds to the nearest whole number
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const int exponent =
      static_cast<int>((bits >> 23) & 0xffu) - 150;  // x is a whole number times 2^this
  const int shift = exponent < 0 ? 0 : exponent < kShifts ? exponent : kShifts - 1;
  const auto scale = std::bit_cast<float>(static_cast<std::uint32_t>(127 - shift) << 23);
  const double m = x * scale;
  const Turns& turn = kTurns[static_cast<std::size_t>(shift)];
  const double whole = m * turn.high;
  const double shifted = whole + kRound;
  const double part = (whole - (shifted - kRound)) + m * turn.low;
  const auto quadrant = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(shifted)) +
                        static_cast<std::uint32_t>(quadrants);
  // The Taylor series on |r| <= pi / 4.
  const auto r = static_cast<float>(part * 1.57079632679489661923);
  const float z = r * r;
  float tail = 1.0f / 362880.0f;
  tail = tail * z - 1.0f / 5040.0f;
  tail = tail * z + 1.0f / 120.0f;
  tail = tail * z - 1.0f / 6.0f;
  const float sine = r + r * (z * tail);
  tail = -1.0f / 3628800.0f;
  tail = tail * z + 1.0f / 40320.0f;
  tail = tail * z - 1.0f / 720.0f;
  tail = tail * z + 1.0f / 24.0f;
  tail = tail * z - 0.5f;
  const float cosine = 1.0f + z * tail;
  const float value = (quadrant & 1u) != 0 ? cosine : sine;
  // Zero keeps its sign.
  return (quadrant & 2u) != 0 ? -value : x == 0.0f && quadrants == 0 ? x : value;
}

}  // namespace detail

// Within 2 units in the last place, whatever the size; NaN for infinity and NaN.
FC_HOST_DEVICE inline float sin(float x) {
  return detail::sin_of(x, 0);
}
FC_HOST_DEVICE inline double sin(double x) {
  return std::sin(x);
}

FC_HOST_DEVICE inline float cos(float x) {
  return detail::sin_of(x, 1);
}
FC_HOST_DEVICE inline double cos(double x) {
  return std::cos(x);
}

}  // namespace fluidcore::math
