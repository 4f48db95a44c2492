#include "fluidcore/kernels/cpu/pool_pairs.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace fluidcore::cpu {

namespace {

// The elements of the input that a window covers along an axis.
struct Covered {
  Covered(const PoolProblem& p, std::size_t axis, std::int64_t output)
      : begin(std::max<std::int64_t>(output * p.stride[axis] - p.pad[axis], 0)),
        end(std::min(output * p.stride[axis] - p.pad[axis] + p.kernel[axis], p.in[axis])) {}

  std::int64_t begin;
  std::int64_t end;
};

// What is done with each element of a window.
struct Greater {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static float of(float best, float value) {
    const float greater = best > value ? best : value;  // a NaN, if it is the value
    return best != best ? best : greater;
  }
  static float result(float best, float /*elements*/) { return best; }
};
struct Mean {
  static constexpr float kStart = 0;
  static float of(float sum, float value) { return sum + value; }
  static float result(float sum, float elements) { return sum / elements; }
};

// The lines that a line of outputs is made of.
struct Lines {
  const float* first;
  std::int64_t layers;
  std::int64_t rows;   // of each layer
  std::int64_t width;  // from a row to the next one
  std::int64_t plane;  // from a layer to the next one
};

// kCount outputs side by side, whose windows begin at column `begin`. Without `omp simd` the loops
// would be unrolled before they are vectorized.
template <class Formula, std::int64_t kCount>
void pool_block(const Lines& lines, std::int64_t begin, float* out) {
  float sums[kCount];
#pragma omp simd
  for (std::int64_t j = 0; j < kCount; ++j) sums[j] = Formula::kStart;
  const float* layer = lines.first + begin;
  for (std::int64_t z = 0; z < lines.layers; ++z, layer += lines.plane) {
    const float* line = layer;
    for (std::int64_t y = 0; y < lines.rows; ++y, line += lines.width) {
#pragma omp simd
      for (std::int64_t j = 0; j < kCount; ++j) {
        sums[j] = Formula::of(sums[j], Formula::of(line[2 * j], line[2 * j + 1]));
      }
    }
  }
  const auto elements = static_cast<float>(lines.layers * lines.rows * 2);
#pragma omp simd
  for (std::int64_t j = 0; j < kCount; ++j) out[j] = Formula::result(sums[j], elements);
}

// A line of outputs in blocks. The last one ends with it, so that some outputs are calculated twice
// and none by itself.
template <class Formula, std::int64_t kCount>
void pool_line(const Lines& lines, std::int64_t width, float* out) {
  for (std::int64_t begin = 0; begin < width; begin += kCount) {
    const std::int64_t j = std::min(begin, width - kCount);
    pool_block<Formula, kCount>(lines, 2 * j, out + j);
  }
}

template <class Formula>
void pool_planes(const PoolProblem& p, std::int64_t planes, const float* x, float* out) {
  const std::int64_t width = p.out[kWidth];
  const std::int64_t plane = p.in[kHeight] * p.in[kWidth];
  for (std::int64_t i = 0; i < planes; ++i, x += p.in_plane()) {
    for (std::int64_t z = 0; z < p.out[kDepth]; ++z) {
      const Covered layers(p, kDepth, z);
      for (std::int64_t y = 0; y < p.out[kHeight]; ++y, out += width) {
        const Covered rows(p, kHeight, y);
        const Lines lines{x + layers.begin * plane + rows.begin * p.in[kWidth],
                          layers.end - layers.begin, rows.end - rows.begin, p.in[kWidth], plane};
        if (width >= 8) {
          pool_line<Formula, 8>(lines, width, out);
        } else if (width >= 4) {
          pool_line<Formula, 4>(lines, width, out);
        } else {
          pool_line<Formula, 1>(lines, width, out);
        }
      }
    }
  }
}

}  // namespace

bool has_pool_pairs(const PoolProblem& p) {
  return !p.adaptive && !p.channels_last && p.kernel[kWidth] == 2 && p.stride[kWidth] == 2 &&
         p.pad[kWidth] == 0 && 2 * p.out[kWidth] <= p.in[kWidth];
}

PoolPairs prepare_pool_pairs(const PoolProblem& p, Isa isa) {
  return [p, isa](std::int64_t planes, const float* x, float* out) {
    run_on(isa, [&] {
      if (p.pooling == Pooling::kMax) {
        pool_planes<Greater>(p, planes, x, out);
      } else {
        pool_planes<Mean>(p, planes, x, out);
      }
    });
  };
}

}  // namespace fluidcore::cpu
