#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

// Parts of a cheap loop that are worth a thread of their own have at least so many elements.
inline constexpr std::int64_t kGrain = 16384;

// A formula for which some numbers need what cannot be vectorized, and a shorter one for all
// others.
template <class Formula, class... In>
concept HasUsualNumbers = requires(In... in) {
  requires(std::is_same_v<In, float> && ...);
  { Formula::is_usual(in...) } -> std::same_as<bool>;
  { Formula::usual(in...) } -> std::same_as<float>;
};

// An element as formulas take it. A bool is read as the byte that holds it, because loads of bool
// are not vectorized.
template <class T>
[[gnu::always_inline]] inline T element(const T& stored) {
  if constexpr (std::is_same_v<T, bool>) {
    return reinterpret_cast<const std::uint8_t&>(stored) != 0;
  } else {
    return stored;
  }
}

// out[i] = formula(in[i]...): the loop that everything here comes down to, compiled once for each
// formula, types and instruction set. `out` may be one of the inputs.
template <class Formula, class Out, class... In>
void calculate(Isa isa, const Formula& formula, std::int64_t size, Out* out, const In*... in) {
  run_on(isa, [=] {
    const Formula own = formula;  // in registers: a load in one branch only would not be vectorized
    const auto part = [&](std::int64_t begin, std::int64_t end, const auto& f) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) out[i] = static_cast<Out>(f(element(in[i])...));
    };
    if constexpr (HasUsualNumbers<Formula, In...>) {
      constexpr std::int64_t kPart = 256;
      for (std::int64_t begin = 0; begin < size; begin += kPart) {
        const std::int64_t end = std::min(begin + kPart, size);
        int unusual = 0;
        for (std::int64_t i = begin; i < end; ++i) unusual |= Formula::is_usual(in[i]...) ? 0 : 1;
        if (unusual != 0) {
          part(begin, end, own);
        } else {
          part(begin, end, [](In... x) { return Formula::usual(x...); });
        }
      }
    } else {
      part(0, size, own);
    }
  });
}

// out[i] = To(in[i]).
template <class To, class From>
void convert_row(Isa isa, std::int64_t size, To* out, const From* in) {
  run_on(isa, [=] {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<To>(in[i]);
  });
}

// Rows that are not plain streams of the types to calculate in are calculated in tiles of this many
// elements: 16-bit floats are converted, and single elements repeated, in the cache.
inline constexpr std::int64_t kTile = 512;

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

}  // namespace fluidcore::cpu
