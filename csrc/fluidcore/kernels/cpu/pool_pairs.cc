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

// kCount outputs side by side, whose windows begin at `from`. Without `omp simd` the loops would be
// unrolled before they are vectorized.
template <class Formula, std::int64_t kCount>
void pool_block(const PoolProblem& p,
                const Covered& layers,
                const Covered& rows,
                const float* from,
                float* out) {
  float sums[kCount];
#pragma omp simd
  for (std::int64_t j = 0; j < kCount; ++j) sums[j] = Formula::kStart;
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const float* const line = from + (layer * p.in[kHeight] + row) * p.in[kWidth];
#pragma omp simd
      for (std::int64_t j = 0; j < kCount; ++j) {
        sums[j] = Formula::of(sums[j], Formula::of(line[2 * j], line[2 * j + 1]));
      }
    }
  }
  const auto elements =
      static_cast<float>((layers.end - layers.begin) * (rows.end - rows.begin) * 2);
#pragma omp simd
  for (std::int64_t j = 0; j < kCount; ++j) out[j] = Formula::result(sums[j], elements);
}

// A line of outputs in blocks. The last one ends with it, so that some outputs are calculated twice
// and none by itself.
template <class Formula, std::int64_t kCount>
void pool_line(const PoolProblem& p,
               const Covered& layers,
               const Covered& rows,
               const float* plane,
               float* out) {
  for (std::int64_t begin = 0; begin < p.out[kWidth]; begin += kCount) {
    const std::int64_t j = std::min(begin, p.out[kWidth] - kCount);
    pool_block<Formula, kCount>(p, layers, rows, plane + 2 * j, out + j);
  }
}

template <class Formula>
void pool_planes(const PoolProblem& p, std::int64_t planes, const float* x, float* out) {
  const std::int64_t width = p.out[kWidth];
  for (std::int64_t plane = 0; plane < planes; ++plane, x += p.in_plane()) {
    for (std::int64_t z = 0; z < p.out[kDepth]; ++z) {
      const Covered layers(p, kDepth, z);
      for (std::int64_t y = 0; y < p.out[kHeight]; ++y, out += width) {
        const Covered rows(p, kHeight, y);
        if (width >= 8) {
          pool_line<Formula, 8>(p, layers, rows, x, out);
        } else if (width >= 4) {
          pool_line<Formula, 4>(p, layers, rows, x, out);
        } else {
          pool_line<Formula, 1>(p, layers, rows, x, out);
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
