#include "fluidcore/kernels/cpu/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kOutside = -1;
constexpr std::int64_t kChunk = 128;  // points that are worked on together
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

// An axis of so many elements, where what is seen is differentiated so often.
class Axis {
 public:
  Axis(const GridSample& sample, std::int64_t extent, std::int64_t order)
      : sample_(sample),
        extent_(extent),
        order_(order),
        slope_((static_cast<double>(extent) - (sample.align_corners ? 1 : 0)) / 2),
        scale_(std::pow(slope_, static_cast<double>(order))),
        reach_(reach_of(sample.resampling)),
        is_hat_(sample.resampling == Resampling::kLinear && order == 0) {}

  // At `x` of [-1, 1].
  AxisTaps taps(double x) const {
    // What lies further outside sees the same: nothing, the border, or an arbitrary reflection.
    constexpr double kFar = 1e9;
    const double near = x < -kFar ? -kFar : x > kFar ? kFar : x;
    const double at = (near + 1) * slope_ - (sample_.align_corners ? 0 : 0.5);
    const std::int64_t first = at == at ? below(at) : 0;  // NOLINT(misc-redundant-expression)
    AxisTaps taps;
    taps.count = static_cast<std::size_t>(reach_.taps);
    for (std::size_t tap = 0; tap < taps.count; ++tap) {
      const std::int64_t source = first + static_cast<std::int64_t>(tap) - reach_.before;
      taps.source[tap] = inside(sample_.beyond, sample_.align_corners, source, extent_);
      const double distance = at - static_cast<double>(source);
      taps.weight[tap] = is_hat_ ? 1 - std::abs(distance)
                                 : scale_ * tap_weight(sample_.resampling, distance, order_);
    }
    return taps;
  }

 private:
  // The element that `at` is nearest to, or the one before it.
  std::int64_t below(double at) const {
    if (sample_.resampling == Resampling::kNearest) {
      return static_cast<std::int64_t>(std::nearbyint(at));
    }
    const auto whole = static_cast<std::int64_t>(at);  // toward zero
    return static_cast<double>(whole) > at ? whole - 1 : whole;
  }

  const GridSample& sample_;
  std::int64_t extent_;
  std::int64_t order_;
  double slope_;
  double scale_;
  Reach reach_;
  bool is_hat_;  // linear weights, the usual ones
};

// The taps of some points: of each, the elements of an image that count and their weights; those
// outside count for nothing.
template <class T>
struct Taps {
  std::int64_t points = 0;
  std::size_t count = 0;
  bool any_outside = false;
  std::int64_t source[kMostTaps * kMostTaps][kChunk];
  T weight[kMostTaps * kMostTaps][kChunk];

  void find(const GridSample& sample, const T* grid, std::int64_t size) {
    const Axis x_axis(sample, sample.width, sample.derivative[0]);
    const Axis y_axis(sample, sample.height, sample.derivative[1]);
    points = size;
    any_outside = false;
    for (std::int64_t p = 0; p < size; ++p) {
      const AxisTaps xs = x_axis.taps(static_cast<double>(grid[2 * p]));
      const AxisTaps ys = y_axis.taps(static_cast<double>(grid[2 * p + 1]));
      count = 0;
      for (std::size_t y = 0; y < ys.count; ++y) {
        for (std::size_t x = 0; x < xs.count; ++x, ++count) {
          const bool outside = xs.source[x] == kOutside || ys.source[y] == kOutside;
          any_outside |= outside;
          source[count][p] = outside ? kOutside : ys.source[y] * sample.width + xs.source[x];
          weight[count][p] = static_cast<T>(ys.weight[y] * xs.weight[x]);
        }
      }
    }
  }

  // Calls f(tap, at) for the taps of point p that are inside.
  template <class F>
  void for_taps(std::int64_t p, const F& f) const {
    for (std::size_t tap = 0; tap < count; ++tap) {
      const std::int64_t at = source[tap][p];
      if (!any_outside || at != kOutside) f(tap, at);
    }
  }
};

// Calls f(image, first, last) for the points [first, last) of images, in parts that threads share.
template <class F>
void for_chunks(const GridSample& sample, const F& f) {
  const std::int64_t chunks = divide_up(sample.points, kChunk);
  parallel_for(sample.images * chunks, 1 + 64 / std::max<std::int64_t>(sample.channels, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t first = i % chunks * kChunk;
                   f(i / chunks, first, std::min(first + kChunk, sample.points));
                 }
               });
}

// Calls f(first, count) for the channels [begin, end), as many at once as share what is loaded of a
// point; `count` is a constant.
template <class F>
void for_channels(std::int64_t begin, std::int64_t end, const F& f) {
  constexpr std::integral_constant<std::size_t, 4> kMany;
  constexpr std::integral_constant<std::size_t, 1> kOne;
  for (; begin + 4 <= end; begin += 4) f(begin, kMany);
  for (; begin < end; ++begin) f(begin, kOne);
}

}  // namespace

template <class T>
void grid_sample(const GridSample& sample, const T* images, const T* grid, T* to) {
  const std::int64_t size = sample.height * sample.width;
  for_chunks(sample, [&](std::int64_t image, std::int64_t first, std::int64_t last) {
    Taps<T> taps;
    taps.find(sample, grid + 2 * (image * sample.points + first), last - first);
    const std::int64_t channel = image * sample.channels;
    for_channels(channel, channel + sample.channels, [&](std::int64_t c, auto count) {
      const T* const from = images + c * size;
      T* const row = to + c * sample.points + first;
      for (std::int64_t p = 0; p < taps.points; ++p) {
        std::array<T, count> total = {};
        taps.for_taps(p, [&](std::size_t tap, std::int64_t at) {
          const T weight = taps.weight[tap][p];
          for (std::size_t k = 0; k < count; ++k) total[k] += weight * from[k * size + at];
        });
        for (std::size_t k = 0; k < count; ++k) row[k * sample.points + p] = total[k];
      }
    });
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
                     for_channels(begin, stop, [&](std::int64_t c, auto count) {
                       const T* const row = dto + c * sample.points + first;
                       T* const into = dimages + c * size;
                       for (std::int64_t p = 0; p < taps.points; ++p) {
                         taps.for_taps(p, [&](std::size_t tap, std::int64_t at) {
                           const T weight = taps.weight[tap][p];
                           for (std::size_t k = 0; k < count; ++k) {
                             into[k * size + at] += weight * row[k * sample.points + p];
                           }
                         });
                       }
                     });
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
    // Of each tap, what its element gives with all channels.
    double given[kMostTaps * kMostTaps][kChunk] = {};
    Taps<T> taps;
    for (const std::size_t axis : {0, 1}) {
      GridSample slope = sample;
      ++slope.derivative[axis];
      taps.find(slope, grid + start, last - first);
      const std::int64_t channel = image * sample.channels;
      if (axis == 0) {
        for_channels(channel, channel + sample.channels, [&](std::int64_t c, auto count) {
          const T* const from = images + c * size;
          const T* const row = dto + c * sample.points + first;
          for (std::int64_t p = 0; p < taps.points; ++p) {
            taps.for_taps(p, [&](std::size_t tap, std::int64_t at) {
              T total = 0;
              for (std::size_t k = 0; k < count; ++k) {
                total += row[k * sample.points + p] * from[k * size + at];
              }
              given[tap][p] += static_cast<double>(total);
            });
          }
        });
      }
      for (std::int64_t p = 0; p < taps.points; ++p) {
        double total = 0;
        taps.for_taps(p, [&](std::size_t tap, std::int64_t /*at*/) {
          total += static_cast<double>(taps.weight[tap][p]) * given[tap][p];
        });
        dgrid[start + 2 * p + static_cast<std::int64_t>(axis)] = static_cast<T>(total);
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
