#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "fluidcore/base/host_device.h"

namespace fluidcore {

// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits. Storage only; arithmetic is in float.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  FC_HOST_DEVICE explicit Float16(float value) : bits(from_float(value)) {}
  FC_HOST_DEVICE operator float() const { return to_float(bits); }  // NOLINT(*-explicit-*)

 private:
  FC_HOST_DEVICE static std::uint16_t from_float(float value);
  FC_HOST_DEVICE static float to_float(std::uint16_t bits);
};

// The upper half of a float: 1 sign, 8 exponent, 7 fraction bits. Storage only.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  FC_HOST_DEVICE explicit BFloat16(float value) : bits(from_float(value)) {}
  FC_HOST_DEVICE operator float() const {  // NOLINT(*-explicit-*)
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }

 private:
  FC_HOST_DEVICE static std::uint16_t from_float(float value);
};

// Rounds to nearest, ties to even; overflows to infinity; keeps NaN.
FC_HOST_DEVICE inline std::uint16_t Float16::from_float(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to 2^16 or more: infinity
  if (magnitude < 0x38800000u) {                        // below 2^-14: subnormal
    // Adding 0.5 puts the last bit that binary16 keeps (2^-24) at the last bit of the float.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u);
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return sign | static_cast<std::uint16_t>((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

FC_HOST_DEVICE inline float Float16::to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude << 13));
  if (magnitude < 0x0400u) {  // subnormal: a multiple of 2^-24
    const auto value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

FC_HOST_DEVICE inline std::uint16_t BFloat16::from_float(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((word >> 16) | 0x40u);
  return static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}

}  // namespace fluidcore
