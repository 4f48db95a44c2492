#pragma once

#include <array>
#include <cstdint>

#include "fluidcore/kernels/cpu/resample.h"

namespace fluidcore::cpu {

// What elements outside of an image are: 0, those at its border, or those inside that a mirror
// shows: at the border's centre with align_corners, else at its outer edge.
enum class Beyond { kZeros, kBorder, kReflection };

// Images [images, channels, height, width], each seen at points of its own. A point is (x, y),
// where -1 and 1 are the centres of the first and the last element with align_corners, else their
// outer edges. Nothing is read outside of an image, whatever the points are; NaN gives NaN.
struct GridSample {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t points = 0;  // of an image
  Resampling resampling = Resampling::kLinear;
  Beyond beyond = Beyond::kZeros;
  bool align_corners = false;
  // How often what is seen is differentiated by x and by y.
  std::array<std::int64_t, 2> derivative = {0, 0};
};

// Each for T float or double; `grid` is [images, points, 2].

// to: [images, channels, points].
template <class T>
void grid_sample(const GridSample& sample, const T* images, const T* grid, T* to);

// The adjoint: dimages += each element of dto [images, channels, points] with the weights that
// the elements of its image had.
template <class T>
void grid_sample_adjoint(const GridSample& sample, const T* grid, const T* dto, T* dimages);

// dgrid: the gradient of grid, [images, points, 2].
template <class T>
void grid_sample_grid_grad(
    const GridSample& sample, const T* images, const T* grid, const T* dto, T* dgrid);

}  // namespace fluidcore::cpu
