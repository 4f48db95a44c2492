#pragma once

#include <cstdint>
#include <type_traits>

#include "fluidcore/kernels/cpu/float_vectors.h"
#include "fluidcore/kernels/cpu/isa.h"

// Products of float32 matrices that lie in panels of kLanes columns: element (i, j) of a matrix is
// at [j / kLanes][i][j % kLanes].
namespace fluidcore::cpu::panels {

inline constexpr std::int64_t kLanes = 16;

// Which index of the product the panels of its first operand are cut along.
enum class Along { kDepth, kRows };

// c(i, j) = sum over k of a(i, k) b(k, j), or += that. Along kDepth `a` has its columns in panels,
// and `depth` is a multiple of kLanes; along kRows it is the transposed of a matrix of panels, and
// `rows` is a multiple of kLanes.
struct PanelProduct {
  std::int64_t rows;  // a multiple of kTileRows
  std::int64_t depth;
  std::int64_t panels;  // of b and c
  std::int64_t a_panel;
  std::int64_t b_panel;
  std::int64_t c_panel;
  bool accumulate;
};
inline constexpr std::int64_t kTileRows = 8;

// Loads and stores need no alignment.
template <int kBytes>
using Vector = typename FloatVector<kBytes>::Unaligned;
// What is calculated with.
template <int kBytes>
using Register = typename FloatVector<kBytes>::Type;

// A part of c that stays in registers: kRows rows of kPanels panels.
template <int kBytes, int kRows, int kPanels, Along kAlong>
struct RegisterTile {
  using V = Vector<kBytes>;
  static constexpr std::int64_t kWidth = kBytes / 4;
  static constexpr std::int64_t kPieces = kLanes / kWidth;
  static constexpr std::int64_t kVectors = kPanels * kPieces;
  // Steps along the depth before `a` goes on in another place.
  static constexpr std::int64_t kSteps = kAlong == Along::kDepth ? kLanes : 1;

  [[gnu::always_inline]] static inline void run(const PanelProduct& p,
                                                const float* a,
                                                const float* b,
                                                float* c) {
    const std::int64_t a_step = kAlong == Along::kDepth ? p.a_panel : kLanes;
    V sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (std::int64_t j = 0; j < kVectors; ++j) sums[i][j] = V{};
    }
    for (std::int64_t depth = 0; depth < p.depth; depth += kSteps, a += a_step) {
#pragma GCC unroll 1
      for (std::int64_t k = 0; k < kSteps; ++k, b += kLanes) {
        V row[kVectors];
#pragma GCC unroll 2
        for (std::int64_t j = 0; j < kVectors; ++j) {
          row[j] = *reinterpret_cast<const V*>(b + j / kPieces * p.b_panel + j % kPieces * kWidth);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
          const float factor = kAlong == Along::kDepth ? a[i * kLanes + k] : a[i];
#pragma GCC unroll 2
          for (std::int64_t j = 0; j < kVectors; ++j) sums[i][j] += factor * row[j];
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (std::int64_t j = 0; j < kVectors; ++j) {
        auto* out =
            reinterpret_cast<V*>(c + j / kPieces * p.c_panel + i * kLanes + j % kPieces * kWidth);
        *out = p.accumulate ? *out + sums[i][j] : sums[i][j];
      }
    }
  }
};

template <int kBytes, int kRows, int kPanels, Along kAlong>
[[gnu::always_inline]] inline void multiply_panels(
    const PanelProduct& p, std::int64_t panel, const float* a, const float* b, float* c) {
  for (std::int64_t i = 0; i < p.rows; i += kRows) {
    const std::int64_t from =
        kAlong == Along::kDepth ? i * kLanes : i / kLanes * p.a_panel + i % kLanes;
    RegisterTile<kBytes, kRows, kPanels, kAlong>::run(p, a + from, b + panel * p.b_panel,
                                                      c + panel * p.c_panel + i * kLanes);
  }
}

template <int kBytes, Along kAlong>
[[gnu::always_inline]] inline void multiply(const PanelProduct& p,
                                            const float* a,
                                            const float* b,
                                            float* c) {
  if constexpr (kBytes == 64) {
    std::int64_t panel = 0;
    for (; panel + 2 <= p.panels; panel += 2) multiply_panels<64, 8, 2, kAlong>(p, panel, a, b, c);
    if (panel < p.panels) multiply_panels<64, 8, 1, kAlong>(p, panel, a, b, c);
  } else {
    for (std::int64_t panel = 0; panel < p.panels; ++panel) {
      multiply_panels<kBytes, 4, 1, kAlong>(p, panel, a, b, c);
    }
  }
}

// Calls f(std::integral_constant<int, bytes of a vector>()), compiled for `isa`, AVX2 or more.
template <class F>
void with_vectors(Isa isa, const F& f) {
  if (isa == Isa::kAvx512) {
    run_avx512([&] { f(std::integral_constant<int, 64>()); });
  } else {
    run_avx2([&] { f(std::integral_constant<int, 32>()); });
  }
}

}  // namespace fluidcore::cpu::panels
