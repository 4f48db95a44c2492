#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/threads.h"
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

// What a row reads: one element for each index, or the same for all.
template <class T>
struct Operand {
  const T* data;
  bool streams = true;
};

// Rows that are not plain streams of float or double are calculated in tiles of this many elements:
// 16-bit floats are converted, and single elements repeated, in the cache.
inline constexpr std::int64_t kTile = 512;

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// The elements [begin, begin + size) of an operand as a stream of the type to calculate in. Tiles
// are loaded from the first one on.
template <class T>
class Tile {
 public:
  const ComputeType<T>* load(Isa isa, Operand<T> operand, std::int64_t begin, std::int64_t size) {
    if (!operand.streams) {
      const auto value = static_cast<ComputeType<T>>(*operand.data);
      if (begin == 0) std::fill_n(values_.data(), size, value);
      return values_.data();
    }
    if constexpr (kIsHalf<T>) {
      convert_row(isa, size, values_.data(), operand.data + begin);
      return values_.data();
    } else {
      return operand.data + begin;
    }
  }

 private:
  alignas(64) std::array<ComputeType<T>, kTile> values_;
};

// out[i] = formula(in[i]...) for one row of `size` elements. 16-bit floats are calculated in float.
// `out` may be the memory of an operand that streams.
template <class Formula, class Out, class... In>
void calculate_row(
    Isa isa, const Formula& formula, std::int64_t size, Out* out, Operand<In>... in) {
  constexpr bool kHasHalf = kIsHalf<Out> || (kIsHalf<In> || ...);
  if constexpr (!kHasHalf) {
    if ((in.streams && ...)) return calculate(isa, formula, size, out, in.data...);
  }
  // Two packs in one lambda are more than some compilers can expand.
  std::tuple<Tile<In>...> tiles;
  const std::tuple<Operand<In>...> operands{in...};
  [[maybe_unused]] alignas(64) std::array<float, kIsHalf<Out> ? kTile : 1> results;
  for (std::int64_t begin = 0; begin < size; begin += kTile) {
    const std::int64_t count = std::min(kTile, size - begin);
    const auto calculate_tile = [&](auto* to) {
      [&]<std::size_t... k>(std::index_sequence<k...>) {
        calculate(isa, formula, count, to,
                  std::get<k>(tiles).load(isa, std::get<k>(operands), begin, count)...);
      }(std::index_sequence_for<In...>());
    };
    if constexpr (kIsHalf<Out>) {
      calculate_tile(results.data());
      convert_row(isa, count, out + begin, results.data());
    } else {
      calculate_tile(out + begin);
    }
  }
}

// out[i] = formula(in[i]...) for i in [0, size), on several threads if there is enough to do.
// `out` may be one of the inputs.
template <class Formula, class Out, class... In>
void elementwise(const Formula& formula, std::int64_t size, Out* out, const In*... in) {
  const Isa isa = cpu_isa();
  parallel_for(size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    calculate_row(isa, formula, end - begin, out + begin, Operand<In>{in + begin}...);
  });
}

}  // namespace fluidcore::cpu
