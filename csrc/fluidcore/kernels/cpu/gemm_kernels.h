#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "fluidcore/kernels/cpu/gemm.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/cpu/square.h"

// What Gemm is made of in each instruction set: its inner loop, and the copies that go before.
namespace fluidcore::cpu::gemm {

// The inner loop: an accumulator of kRows x kVectorCount vectors lives in registers. The rows of A
// are packed side by side, or lie where the caller has them, `a_row` apart.
template <class T, int kVectorBytes, int kMaxRows, int kVectorCount = 2, bool kPacked = true>
struct TileLoop {
  using Vector [[gnu::vector_size(kVectorBytes)]] = T;
  using Unaligned [[gnu::vector_size(kVectorBytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int kVectors = kVectorCount;
  static constexpr int kColumns = kWidth * kVectors;

  template <int kRows>
  [[gnu::always_inline]] static inline void run(std::int64_t k,
                                                const T* a,
                                                std::int64_t a_row,
                                                const T* b,
                                                T* c,
                                                MatrixLayout c_layout,
                                                std::int64_t columns,
                                                bool accumulate) {
    if (columns > kColumns) __builtin_unreachable();
    Vector sums[kRows][kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sums[i][j] = Vector{};
    }
    for (std::int64_t p = 0; p < k; ++p) {
      Vector row[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        row[j] = *reinterpret_cast<const Unaligned*>(b + p * kColumns + j * kWidth);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const T factor = kPacked ? a[p * kMaxRows + i] : a[i * a_row + p];
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) sums[i][j] += factor * row[j];
      }
    }
    if (columns == kColumns && c_layout.col == 1) {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) {
          auto* out = reinterpret_cast<Unaligned*>(c + i * c_layout.row + j * kWidth);
          *out = accumulate ? *out + sums[i][j] : sums[i][j];
        }
      }
      return;
    }
    T tile[kRows][kColumns];
    std::memcpy(tile, sums, sizeof(tile));
    for (int i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        T& out = c[i * c_layout.row + j * c_layout.col];
        out = accumulate ? out + tile[i][j] : tile[i][j];
      }
    }
  }
};

template <class T, std::int64_t kCount>
[[gnu::always_inline]] inline void copy_lines(std::int64_t k,
                                              const T* from,
                                              std::int64_t apart,
                                              T* to) {
  for (std::int64_t p = 0; p < k; ++p) {
    std::memcpy(to + p * kCount, from + p * apart, kCount * sizeof(T));
  }
}

template <class T, int kVectorBytes, std::int64_t kColumns>
[[gnu::always_inline]] inline void turn_lines(
    std::int64_t count, std::int64_t k, const T* from, std::int64_t apart, T* to) {
  using Block = Square<T, kVectorBytes>;
  constexpr std::int64_t kWidth = Block::kWidth;
  const std::int64_t squares = count / kWidth * kWidth;
  const std::int64_t depths = k / kWidth * kWidth;
  for (std::int64_t i = 0; i < squares; i += kWidth) {
    for (std::int64_t p = 0; p < depths; p += kWidth) {
      Block::turn(from + i * apart + p, apart, to + p * kColumns + i, kColumns);
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t p = i < squares ? depths : 0; p < k; ++p) {
      to[p * kColumns + i] = from[i * apart + p];
    }
  }
}

struct Avx512 {
  static constexpr int kBytes = 64;
  static constexpr int kRows = 8;
  template <class F>
  static void run(const F& f) {
    run_avx512(f);
  }
};
struct Avx2 {
  static constexpr int kBytes = 32;
  static constexpr int kRows = 6;
  template <class F>
  static void run(const F& f) {
    run_avx2(f);
  }
};
struct Baseline {
  static constexpr int kBytes = 16;
  static constexpr int kRows = 6;
  template <class F>
  static void run(const F& f) {
    run_baseline(f);
  }
};

// The kernels of an instruction set for an inner loop of so many vectors, and A packed or not.
template <class T, class Set, int kVectors, bool kPacked>
struct KernelsOf {
  using Loop = TileLoop<T, Set::kBytes, Set::kRows, kVectors, kPacked>;

  template <int kRows>
  static void tile(std::int64_t k,
                   const T* a,
                   std::int64_t a_row,
                   const T* b,
                   T* c,
                   MatrixLayout layout,
                   std::int64_t columns,
                   bool add) {
    Set::run([&] { Loop::template run<kRows>(k, a, a_row, b, c, layout, columns, add); });
  }
  template <std::int64_t kCount>
  static void copy(std::int64_t k, const T* from, std::int64_t apart, T* to) {
    Set::run([&] { copy_lines<T, kCount>(k, from, apart, to); });
  }
  static void turn(std::int64_t count, std::int64_t k, const T* from, std::int64_t apart, T* to) {
    Set::run([&] { turn_lines<T, Set::kBytes, Loop::kColumns>(count, k, from, apart, to); });
  }

  static constexpr std::array<typename Gemm<T>::Kernels::Rows, 4> kTiles = {
      {{Set::kRows, tile<Set::kRows>}, {4, tile<4>}, {2, tile<2>}, {1, tile<1>}}};
  static constexpr typename Gemm<T>::Kernels kAll = {
      kTiles.data(), Set::kRows, Loop::kColumns, copy<Set::kRows>, copy<Loop::kColumns>, turn};
};

template <class T, int kVectors, bool kPacked>
typename Gemm<T>::Kernels kernels_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512: return KernelsOf<T, Avx512, kVectors, kPacked>::kAll;
    case Isa::kAvx2: return KernelsOf<T, Avx2, kVectors, kPacked>::kAll;
    case Isa::kBaseline: break;
  }
  return KernelsOf<T, Baseline, kVectors, kPacked>::kAll;
}

}  // namespace fluidcore::cpu::gemm
