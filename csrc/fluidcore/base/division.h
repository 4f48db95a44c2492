#pragma once

#include <concepts>
#include <type_traits>

namespace fluidcore {

// a / b, rounded up, of numbers that are not negative.
template <std::integral T>
constexpr T divide_up(T a, std::type_identity_t<T> b) {
  return (a + b - 1) / b;
}

// The least multiple of b that is not less than a.
template <std::integral T>
constexpr T round_up(T a, std::type_identity_t<T> b) {
  return divide_up(a, b) * b;
}

}  // namespace fluidcore
