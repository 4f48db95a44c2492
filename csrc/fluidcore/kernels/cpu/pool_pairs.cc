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
  std::int64_t first;  // where they begin
  std::int64_t layers;
  std::int64_t rows;   // of each layer
  std::int64_t width;  // from a row to the next one
  std::int64_t plane;  // from a layer to the next one

  std::int64_t count() const { return layers * rows; }

  // f(where a line begins), with a step to the right.
  template <class F>
  void each(std::int64_t step, const F& f) const {
    for (std::int64_t z = 0; z < layers; ++z) {
      for (std::int64_t y = 0; y < rows; ++y) f(first + step + z * plane + y * width);
    }
  }
};

// Without `omp simd` the loops of blocks would be unrolled before they are vectorized.

template <class Formula>
struct Pool {
  const float* x;
  float* out;

  // kCount outputs side by side, from `at` on, whose windows begin `step` to the right.
  template <std::int64_t kCount>
  void block(const Lines& lines, std::int64_t step, std::int64_t at) const {
    float sums[kCount];
#pragma omp simd
    for (std::int64_t j = 0; j < kCount; ++j) sums[j] = Formula::kStart;
    lines.each(step, [&](std::int64_t begin) {
      const float* line = x + begin;
#pragma omp simd
      for (std::int64_t j = 0; j < kCount; ++j) {
        sums[j] = Formula::of(sums[j], Formula::of(line[2 * j], line[2 * j + 1]));
      }
    });
    const auto elements = static_cast<float>(lines.count() * 2);
#pragma omp simd
    for (std::int64_t j = 0; j < kCount; ++j) out[at + j] = Formula::result(sums[j], elements);
  }
};

// The first greatest element of a window gets its gradient.
struct MaxGrad {
  const float* x;
  const float* out_grad;
  float* x_grad;

  template <std::int64_t kCount>
  void block(const Lines& lines, std::int64_t step, std::int64_t at) const {
    float best[kCount];
    Pool<Greater>{x, best}.block<kCount>(lines, step, 0);
    float left[kCount];  // what no element has got yet
    std::copy_n(out_grad + at, kCount, left);
    lines.each(step, [&](std::int64_t begin) {
      const float* line = x + begin;
      float* to = x_grad + begin;
#pragma omp simd
      for (std::int64_t j = 0; j < kCount; ++j) {
        const float before = line[2 * j];
        const float behind = line[2 * j + 1];
        const bool is_before = (before == best[j]) | (before != before);
        const bool is_behind = (behind == best[j]) | (behind != behind);
        const float after = is_before ? 0.0F : left[j];
        to[2 * j] = is_before ? left[j] : 0.0F;
        to[2 * j + 1] = is_behind ? after : 0.0F;
        left[j] = is_behind ? 0.0F : after;
      }
    });
  }
};

struct MeanGrad {
  const float* out_grad;
  float* x_grad;

  template <std::int64_t kCount>
  void block(const Lines& lines, std::int64_t step, std::int64_t at) const {
    const auto elements = static_cast<float>(lines.count() * 2);
    lines.each(step, [&](std::int64_t begin) {
      float* to = x_grad + begin;
#pragma omp simd
      for (std::int64_t j = 0; j < kCount; ++j) {
        const float share = out_grad[at + j] / elements;
        to[2 * j] = share;
        to[2 * j + 1] = share;
      }
    });
  }
};

// A line of outputs in blocks. The last one ends with it, so that some outputs are calculated twice
// and none by itself.
template <std::int64_t kCount, class Work>
void work_on_line(const Lines& lines, std::int64_t width, std::int64_t at, const Work& work) {
  for (std::int64_t begin = 0; begin < width; begin += kCount) {
    const std::int64_t j = std::min(begin, width - kCount);
    work.template block<kCount>(lines, 2 * j, at + j);
  }
}

template <class Work>
void work_on_planes(const PoolProblem& p, std::int64_t planes, const Work& work) {
  const std::int64_t width = p.out[kWidth];
  const std::int64_t plane = p.in[kHeight] * p.in[kWidth];
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < planes; ++i) {
    for (std::int64_t z = 0; z < p.out[kDepth]; ++z) {
      const Covered layers(p, kDepth, z);
      for (std::int64_t y = 0; y < p.out[kHeight]; ++y, at += width) {
        const Covered rows(p, kHeight, y);
        const Lines lines{i * p.in_plane() + layers.begin * plane + rows.begin * p.in[kWidth],
                          layers.end - layers.begin, rows.end - rows.begin, p.in[kWidth], plane};
        if (width >= 8) {
          work_on_line<8>(lines, width, at, work);
        } else if (width >= 4) {
          work_on_line<4>(lines, width, at, work);
        } else {
          work_on_line<1>(lines, width, at, work);
        }
      }
    }
  }
}

// Whether every element of the input is in a window.
bool covers_all(const PoolProblem& p) {
  for (std::size_t axis = 0; axis < p.in.size(); ++axis) {
    if (p.out[axis] * p.kernel[axis] < p.in[axis]) return false;
  }
  return true;
}

}  // namespace

bool has_pool_pairs(const PoolProblem& p) {
  return !p.adaptive && !p.channels_last && p.kernel[kWidth] == 2 && p.stride[kWidth] == 2 &&
         p.pad[kWidth] == 0 && 2 * p.out[kWidth] <= p.in[kWidth];
}

bool has_pool_pairs_grad(const PoolProblem& p) {
  return has_pool_pairs(p) && p.kernel == p.stride && p.pad == Spatial{};
}

PoolPairs prepare_pool_pairs(const PoolProblem& p, Isa isa) {
  return [p, isa](std::int64_t planes, const float* x, float* out) {
    run_on(isa, [&] {
      if (p.pooling == Pooling::kMax) {
        work_on_planes(p, planes, Pool<Greater>{x, out});
      } else {
        work_on_planes(p, planes, Pool<Mean>{x, out});
      }
    });
  };
}

PoolPairsGrad prepare_pool_pairs_grad(const PoolProblem& p, Isa isa) {
  const bool has_others = !covers_all(p);
  return [=](std::int64_t planes, const float* x, const float* out_grad, float* x_grad) {
    if (has_others) std::fill_n(x_grad, planes * p.in_plane(), 0.0F);
    run_on(isa, [&] {
      if (p.pooling == Pooling::kMax) {
        work_on_planes(p, planes, MaxGrad{x, out_grad, x_grad});
      } else {
        work_on_planes(p, planes, MeanGrad{out_grad, x_grad});
      }
    });
  };
}

}  // namespace fluidcore::cpu
