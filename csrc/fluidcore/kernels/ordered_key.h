#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fluidcore/base/host_device.h"

namespace fluidcore {

template <std::size_t bytes>
using KeyBits = std::conditional_t<
    bytes == 8,
    std::uint64_t,
    std::conditional_t<bytes == 4,
                       std::uint32_t,
                       std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>>;

// A number of as many bytes, without a sign, that orders like x: NaN is the greatest, and -0 is 0.
template <class C>
FC_HOST_DEVICE constexpr KeyBits<sizeof(C)> ordered_key(C x) {
  using Key = KeyBits<sizeof(C)>;
  constexpr Key kSign = Key{1} << (8 * sizeof(C) - 1);
  if constexpr (std::is_same_v<C, bool>) {
    return x ? 1 : 0;
  } else if constexpr (std::is_integral_v<C>) {
    return static_cast<Key>(static_cast<Key>(x) ^ kSign);
  } else {
    const auto bits = std::bit_cast<Key>(x + C(0));
    const Key key = (bits & kSign) != 0 ? ~bits : bits | kSign;
    return x == x ? key : ~Key{0};  // NOLINT(misc-redundant-expression)
  }
}

}  // namespace fluidcore
