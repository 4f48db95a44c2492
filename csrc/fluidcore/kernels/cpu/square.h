#pragma once

#include <cstdint>
#include <utility>

namespace fluidcore::cpu {

// Lines of W numbers, which are W, become columns, in registers.
template <class T, int kVectorBytes>
struct Square {
  using Vector [[gnu::vector_size(kVectorBytes)]] = T;
  using Unaligned [[gnu::vector_size(kVectorBytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

  // to = the elements of a and b in turn, from `kFirst` on.
  template <int kFirst, int... kIndex>
  [[gnu::always_inline]] static inline void zip(const Vector& a,
                                                const Vector& b,
                                                Vector& to,
                                                std::integer_sequence<int, kIndex...> /*each*/) {
    to = __builtin_shufflevector(a, b, (kFirst + kIndex / 2 + kIndex % 2 * kWidth)...);
  }

  // log2 W perfect shuffles of all elements.
  [[gnu::always_inline]] static inline void turn(const T* from,
                                                 std::int64_t apart,
                                                 T* to,
                                                 std::int64_t to_apart) {
    using Indices = std::make_integer_sequence<int, kWidth>;
    Vector lines[kWidth];
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) {
      lines[i] = *reinterpret_cast<const Unaligned*>(from + i * apart);
    }
#pragma GCC unroll 4
    for (int stage = 1; stage < kWidth; stage *= 2) {
      Vector next[kWidth];
#pragma GCC unroll 8
      for (int i = 0; i < kWidth / 2; ++i) {
        zip<0>(lines[i], lines[i + kWidth / 2], next[2 * i], Indices());
        zip<kWidth / 2>(lines[i], lines[i + kWidth / 2], next[2 * i + 1], Indices());
      }
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i) lines[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) {
      *reinterpret_cast<Unaligned*>(to + i * to_apart) = lines[i];
    }
  }
};

}  // namespace fluidcore::cpu
