#pragma once

#include <algorithm>
#include <cstdint>

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cpu/winograd_transforms.h"

namespace fluidcore::cpu::winograd {

inline constexpr std::int64_t kTaps = 9;

// A filter [filters, channels, 3, 3] as a matrix whose elements are its 3 x 3 taps.
struct FilterMatrix {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_step;  // from one element to the next, in floats
  std::int64_t column_step;
  bool mirrored;  // taps from the last to the first
};

// [channels, filters], by which an input is multiplied.
inline FilterMatrix filter_matrix(const ConvProblem& p) {
  return {p.channels, p.filters, kTaps, p.channels * kTaps, false};
}
// [filters, channels], by which the gradient of an output is multiplied.
inline FilterMatrix mirrored_filter_matrix(const ConvProblem& p) {
  return {p.filters, p.channels, p.channels * kTaps, kTaps, true};
}

// kLanes rows of the panel that starts at `column`, transformed. Rows that there are not are zeros.
template <int kBytes>
[[gnu::always_inline]] inline void transform_filter_rows(const FilterMatrix& matrix,
                                                         const float* filter,
                                                         std::int64_t column,
                                                         std::int64_t first,
                                                         const Panels& panels,
                                                         float* out) {
  const std::int64_t rows = std::min(kLanes, matrix.rows - first);
  const std::int64_t lanes = std::min(kLanes, matrix.columns - column);
  const std::int64_t first_tap = matrix.mirrored ? kTaps - 1 : 0;
  const std::int64_t tap_step = matrix.mirrored ? -1 : 1;
  float taps[kLanes][3][3][kLanes];
  if (rows < kLanes || lanes < kLanes) std::fill_n(taps[0][0][0], kLanes * kTaps * kLanes, 0.0F);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    const float* from =
        filter + first * matrix.row_step + (column + lane) * matrix.column_step + first_tap;
    for (std::int64_t row = 0; row < rows; ++row, from += matrix.row_step) {
#pragma GCC unroll 9
      for (std::int64_t k = 0; k < kTaps; ++k) taps[row][k / 3][k % 3][lane] = from[k * tap_step];
    }
  }
  out += first * kLanes;
  for (std::int64_t row = 0; row < kLanes; ++row, out += kLanes) {
    const float* places[3][3];
    for (int k = 0; k < kTaps; ++k) places[k / 3][k % 3] = taps[row][k / 3][k % 3];
    into_panels<kBytes, OfFilter>(places, out, panels.matrix);
  }
}

// Panels [first, last) of columns, of which the first is left at `out`.
template <int kBytes>
[[gnu::always_inline]] inline void transform_filter(const FilterMatrix& matrix,
                                                    const float* filter,
                                                    std::int64_t first,
                                                    std::int64_t last,
                                                    const Panels& panels,
                                                    float* out) {
  for (std::int64_t panel = first; panel < last; ++panel, out += panels.panel) {
    for (std::int64_t row = 0; row < matrix.rows; row += kLanes) {
      transform_filter_rows<kBytes>(matrix, filter, panel * kLanes, row, panels, out);
    }
  }
}

// The gradient of the filter from that of the transformed one, in panels, of channels
// [first, last); row 0 of the panels is the first of these.
template <int kBytes>
[[gnu::always_inline]] inline void transform_filter_grad(const FilterMatrix& matrix,
                                                         const float* in,
                                                         const Panels& panels,
                                                         std::int64_t first,
                                                         std::int64_t last,
                                                         float* filter_grad) {
  for (std::int64_t panel = 0; panel < panels.count; ++panel) {
    const std::int64_t column = panel * kLanes;
    const std::int64_t lanes = std::min(kLanes, matrix.columns - column);
    for (std::int64_t row = first; row < last; ++row) {
      alignas(64) float taps[3][3][kLanes];
      from_panels<kBytes, ToFilterGrad, 3>(
          in + panel * panels.panel + (row - first) * kLanes, panels.matrix,
          [&](std::size_t i, std::size_t j, std::int64_t lane, const Register<kBytes>& value) {
            *reinterpret_cast<Vector<kBytes>*>(taps[i][j] + lane) = value;
          });
      float* to = filter_grad + row * matrix.row_step + column * matrix.column_step;
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
#pragma GCC unroll 9
        for (int k = 0; k < kTaps; ++k) {
          to[lane * matrix.column_step + k] = taps[k / 3][k % 3][lane];
        }
      }
    }
  }
}

}  // namespace fluidcore::cpu::winograd
