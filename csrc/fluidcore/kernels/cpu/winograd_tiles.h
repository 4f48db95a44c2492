#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cpu/winograd_transforms.h"

namespace fluidcore::cpu::winograd {

// An image [batch, height, width, channels].
struct Image {
  // Where the channels of a pixel start; -1 outside of the image.
  std::int64_t offset(std::int64_t image, std::int64_t y, std::int64_t x) const {
    if (y < 0 || y >= height || x < 0 || x >= width) return -1;
    return ((image * height + y) * width + x) * channels;
  }

  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
};

inline Image input_of(const ConvProblem& p) {
  return {p.in[kHeight], p.in[kWidth], p.channels};
}
inline Image output_of(const ConvProblem& p) {
  return {p.out[kHeight], p.out[kWidth], p.filters};
}

// The tiles of a problem, 2 x 2 outputs each, numbered row by row of image by image. Those at the
// lower and right borders may have outputs that are outside.
struct Tiles {
  explicit Tiles(const ConvProblem& p)
      : rows(divide_up(p.out[kHeight], 2)),
        columns(divide_up(p.out[kWidth], 2)),
        count(p.batch * rows * columns) {}

  // Calls f(image, y, x), the first output of the tile, for tiles [first, last).
  template <class F>
  [[gnu::always_inline]] void for_each(std::int64_t first, std::int64_t last, const F& f) const {
    std::int64_t column = first % columns;
    std::int64_t row = first / columns % rows;
    std::int64_t image = first / columns / rows;
    for (std::int64_t tile = first; tile < last; ++tile) {
      f(image, 2 * row, 2 * column);
      if (++column < columns) continue;
      column = 0;
      if (++row < rows) continue;
      row = 0;
      ++image;
    }
  }

  std::int64_t rows;
  std::int64_t columns;
  std::int64_t count;
};

// Transforms kIn x kIn pixels, with (y, x) as the first, of the channels [first, last) into row
// `out` of panels. `zeros` are as many as there are channels; they are read outside of the image.
template <int kBytes, class Transform, std::size_t kIn>
[[gnu::always_inline]] inline void transform_patch(const Image& shape,
                                                   const float* pixels,
                                                   std::int64_t image,
                                                   std::int64_t y,
                                                   std::int64_t x,
                                                   std::int64_t first,
                                                   std::int64_t last,
                                                   const float* zeros,
                                                   const Panels& panels,
                                                   float* out) {
  const float* patch[kIn][kIn];
  for (std::size_t i = 0; i < kIn; ++i) {
    for (std::size_t j = 0; j < kIn; ++j) {
      const std::int64_t offset =
          shape.offset(image, y + static_cast<std::int64_t>(i), x + static_cast<std::int64_t>(j));
      patch[i][j] = (offset < 0 ? zeros : pixels + offset) + first;
    }
  }
  float tail[kIn * kIn][kLanes];
  for (std::int64_t channel = first; channel < last; channel += kLanes, out += panels.panel) {
    if (channel + kLanes > last) {
      for (std::size_t i = 0; i < kIn * kIn; ++i) {
        const float*& pixel = patch[i / kIn][i % kIn];
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          tail[i][lane] = channel + lane < last ? pixel[lane] : 0.0F;
        }
        pixel = tail[i];
      }
    }
    into_panels<kBytes, Transform>(patch, out, panels.matrix);
    for (auto& line : patch) {
      for (const float*& pixel : line) pixel += kLanes;
    }
  }
}

}  // namespace fluidcore::cpu::winograd
