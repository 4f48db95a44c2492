#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "fluidcore/base/host_device.h"

namespace fluidcore {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a function
// from a counter and a key to four words of random bits. It has no state, so number i of a
// sequence is calculated without the numbers before it, on every device and thread alike.
struct Philox {
  using Counter = std::array<std::uint32_t, 4>;
  using Key = std::array<std::uint32_t, 2>;

  FC_HOST_DEVICE static Counter bits(const Counter& counter, const Key& key) {
    std::uint32_t a = counter[0];
    std::uint32_t b = counter[1];
    std::uint32_t c = counter[2];
    std::uint32_t d = counter[3];
    std::uint32_t k0 = key[0];
    std::uint32_t k1 = key[1];
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p = std::uint64_t{0xd2511f53u} * a;
      const std::uint64_t q = std::uint64_t{0xcd9e8d57u} * c;
      a = static_cast<std::uint32_t>(q >> 32) ^ b ^ k0;
      b = static_cast<std::uint32_t>(q);
      c = static_cast<std::uint32_t>(p >> 32) ^ d ^ k1;
      d = static_cast<std::uint32_t>(p);
      k0 += 0x9e3779b9u;
      k1 += 0xbb67ae85u;
    }
    return {a, b, c, d};
  }
};

// A sequence of random numbers: number i has the counter {i, offset} and this key. Sequences with
// different keys or offsets have nothing in common.
struct RandomSequence {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;

  FC_HOST_DEVICE Philox::Counter bits(std::uint64_t i) const {
    return Philox::bits(
        {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32),
         static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)},
        {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
  }

  // Number i, uniform in [0, 1): a multiple of 2^-24 (float) or 2^-53 (double).
  template <class T>
  FC_HOST_DEVICE T uniform(std::uint64_t i) const {
    const Philox::Counter words = bits(i);
    return to_unit<T>(words[0], words[1]);
  }

  // Number i of the normal distribution with mean 0 and deviation 1, by Box and Muller.
  template <class T>
  FC_HOST_DEVICE T normal(std::uint64_t i) const {
    const Philox::Counter words = bits(i);
    const T radius = std::sqrt(T(-2) * std::log(T(1) - to_unit<T>(words[0], words[1])));
    return radius * std::cos(T(6.28318530717958647693) * to_unit<T>(words[2], words[3]));
  }

 private:
  template <class T>
  FC_HOST_DEVICE static T to_unit(std::uint32_t high, std::uint32_t low) {
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(static_cast<std::int32_t>(high >> 8)) * 0x1p-24f;
    } else {
      const std::uint64_t word = (std::uint64_t{high} << 32) | low;
      return static_cast<double>(static_cast<std::int64_t>(word >> 11)) * 0x1p-53;
    }
  }
};

}  // namespace fluidcore
