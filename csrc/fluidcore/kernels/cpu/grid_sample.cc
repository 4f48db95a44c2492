#include "fluidcore/kernels/cpu/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kOutside = -1;
constexpr std::int64_t kChunk = 64;   // points that are worked on together
constexpr std::size_t kMostTaps = 4;  // along an axis

// The elements along an axis that count for a point, with their weights.
struct AxisTaps {
  std::size_t count = 0;
  std::array<std::int64_t, kMostTaps> source = {};
  std::array<double, kMostTaps> weight = {};
};

std::int64_t inside(Beyond beyond, bool align_corners, std::int64_t i, std::int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (beyond == Beyond::kZeros) return kOutside;
  if (beyond == Beyond::kBorder || extent == 1) return i < 0 ? 0 : extent - 1;
  const std::int64_t period = align_corners ? 2 * extent - 2 : 2 * extent;
  const std::int64_t from_start = (i % period + period) % period;
  return std::min(from_start, period - (align_corners ? 0 : 1) - from_start);
}

// At `x` of [-1, 1], along an axis of `extent` elements.
AxisTaps axis_taps(const GridSample& sample, double x, std::int64_t extent, std::int64_t order) {
  // What lies further outside sees the same: nothing, the border, or an arbitrary reflection.
  constexpr double kFar = 1e9;
  const auto size = static_cast<double>(extent);
  const double slope = sample.align_corners ? (size - 1) / 2 : size / 2;
  const double near = x < -kFar ? -kFar : x > kFar ? kFar : x;
  const double at = (near + 1) * slope - (sample.align_corners ? 0 : 0.5);
  const bool nearest = sample.resampling == Resampling::kNearest;
  const double below = nearest ? std::nearbyint(at) : std::floor(at);
  const std::int64_t first = std::isnan(at) ? 0 : static_cast<std::int64_t>(below);
  const Reach reach = reach_of(sample.resampling);
  const double scale = std::pow(slope, static_cast<double>(order));
  AxisTaps taps;
  taps.count = static_cast<std::size_t>(reach.taps);
  for (std::size_t tap = 0; tap < taps.count; ++tap) {
    const std::int64_t step = static_cast<std::int64_t>(tap) - reach.before;
    const double distance = at - below - static_cast<double>(step);
    taps.source[tap] = inside(sample.beyond, sample.align_corners, first + step, extent);
    taps.weight[tap] = scale * tap_weight(sample.resampling, distance, order);
  }
  return taps;
}

// The taps of some points: of each, the elements of an image that count and their weights; those
// outside count for nothing.
template <class T>
struct Taps {
  std::int64_t points = 0;
  std::size_t count = 0;
  std::int64_t source[kMostTaps * kMostTaps][kChunk];
  T weight[kMostTaps * kMostTaps][kChunk];

  void find(const GridSample& sample, const T* grid, std::int64_t size) {
    points = size;
    for (std::int64_t p = 0; p < size; ++p) {
      const AxisTaps xs =
          axis_taps(sample, static_cast<double>(grid[2 * p]), sample.width, sample.derivative[0]);
      const AxisTaps ys = axis_taps(sample, static_cast<double>(grid[2 * p + 1]), sample.height,
                                    sample.derivative[1]);
      count = 0;
      for (std::size_t y = 0; y < ys.count; ++y) {
        for (std::size_t x = 0; x < xs.count; ++x, ++count) {
          const bool outside = xs.source[x] == kOutside || ys.source[y] == kOutside;
          source[count][p] = outside ? kOutside : ys.source[y] * sample.width + xs.source[x];
          weight[count][p] = static_cast<T>(ys.weight[y] * xs.weight[x]);
        }
      }
    }
  }

  // What is seen of a channel at point p.
  T sum(const T* channel, std::int64_t p) const {
    T total = 0;
    for (std::size_t tap = 0; tap < count; ++tap) {
      const std::int64_t at = source[tap][p];
      total += at == kOutside ? T(0) : weight[tap][p] * channel[at];
    }
    return total;
  }
};

// Calls f(image, first, last) for the points [first, last) of images, in parts that threads share.
template <class F>
void for_chunks(const GridSample& sample, const F& f) {
  const std::int64_t chunks = (sample.points + kChunk - 1) / kChunk;
  parallel_for(sample.images * chunks, 1 + 64 / std::max<std::int64_t>(sample.channels, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t first = i % chunks * kChunk;
                   f(i / chunks, first, std::min(first + kChunk, sample.points));
                 }
               });
}

}  // namespace

template <class T>
void grid_sample(const GridSample& sample, const T* images, const T* grid, T* to) {
  const std::int64_t size = sample.height * sample.width;
  for_chunks(sample, [&](std::int64_t image, std::int64_t first, std::int64_t last) {
    Taps<T> taps;
    taps.find(sample, grid + 2 * (image * sample.points + first), last - first);
    for (std::int64_t c = image * sample.channels; c < (image + 1) * sample.channels; ++c) {
      T* const row = to + c * sample.points + first;
      for (std::int64_t p = 0; p < taps.points; ++p) row[p] = taps.sum(images + c * size, p);
    }
  });
}

template <class T>
void grid_sample_adjoint(const GridSample& sample, const T* grid, const T* dto, T* dimages) {
  const std::int64_t size = sample.height * sample.width;
  constexpr std::int64_t kThreadWork = 4096;  // points
  // Threads share the channels: each adds up what is its own, in the order of the points.
  parallel_for(sample.images * sample.channels,
               1 + kThreadWork / std::max<std::int64_t>(sample.points, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 Taps<T> taps;
                 while (begin < end) {
                   const std::int64_t image = begin / sample.channels;
                   const std::int64_t stop = std::min(end, (image + 1) * sample.channels);
                   for (std::int64_t first = 0; first < sample.points; first += kChunk) {
                     taps.find(sample, grid + 2 * (image * sample.points + first),
                               std::min(kChunk, sample.points - first));
                     for (std::int64_t c = begin; c < stop; ++c) {
                       const T* const row = dto + c * sample.points + first;
                       T* const channel = dimages + c * size;
                       for (std::size_t tap = 0; tap < taps.count; ++tap) {
                         for (std::int64_t p = 0; p < taps.points; ++p) {
                           const std::int64_t at = taps.source[tap][p];
                           if (at != kOutside) channel[at] += taps.weight[tap][p] * row[p];
                         }
                       }
                     }
                   }
                   begin = stop;
                 }
               });
}

template <class T>
void grid_sample_grid_grad(
    const GridSample& sample, const T* images, const T* grid, const T* dto, T* dgrid) {
  const std::int64_t size = sample.height * sample.width;
  for_chunks(sample, [&](std::int64_t image, std::int64_t first, std::int64_t last) {
    const std::int64_t start = 2 * (image * sample.points + first);
    for (const std::size_t axis : {0, 1}) {
      GridSample slope = sample;
      ++slope.derivative[axis];
      Taps<T> taps;
      taps.find(slope, grid + start, last - first);
      std::array<double, kChunk> total = {};
      for (std::int64_t c = image * sample.channels; c < (image + 1) * sample.channels; ++c) {
        const T* const row = dto + c * sample.points + first;
        for (std::int64_t p = 0; p < taps.points; ++p) {
          total[static_cast<std::size_t>(p)] +=
              static_cast<double>(row[p] * taps.sum(images + c * size, p));
        }
      }
      for (std::int64_t p = 0; p < taps.points; ++p) {
        dgrid[start + 2 * p + static_cast<std::int64_t>(axis)] =
            static_cast<T>(total[static_cast<std::size_t>(p)]);
      }
    }
  });
}

template void grid_sample(const GridSample&, const float*, const float*, float*);
template void grid_sample(const GridSample&, const double*, const double*, double*);
template void grid_sample_adjoint(const GridSample&, const float*, const float*, float*);
template void grid_sample_adjoint(const GridSample&, const double*, const double*, double*);
template void grid_sample_grid_grad(
    const GridSample&, const float*, const float*, const float*, float*);
template void grid_sample_grid_grad(
    const GridSample&, const double*, const double*, const double*, double*);

}  // namespace fluidcore::cpu
