#include "fluidcore/kernels/cpu/pool.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

namespace {

// Outputs of a row that are calculated together, side by side.
constexpr std::int64_t kChunk = 64;

// Where the window of an output begins along an axis, before the input perhaps, and its end.
std::int64_t begin_of(const PoolProblem& p, std::size_t axis, std::int64_t output) {
  return p.adaptive ? output * p.in[axis] / p.out[axis] : output * p.stride[axis] - p.pad[axis];
}
std::int64_t end_of(const PoolProblem& p, std::size_t axis, std::int64_t output) {
  return p.adaptive ? ((output + 1) * p.in[axis] + p.out[axis] - 1) / p.out[axis]
                    : begin_of(p, axis, output) + p.kernel[axis];
}

// Outputs of a row that have windows alike are calculated together.
std::int64_t chunk_of(const PoolProblem& p) {
  return p.adaptive ? 1 : kChunk;
}

// The elements of the input that a window covers along an axis.
struct Covered {
  Covered(const PoolProblem& p, std::size_t axis, std::int64_t output)
      : begin(std::max<std::int64_t>(begin_of(p, axis, output), 0)),
        end(std::min(end_of(p, axis, output), p.in[axis])) {}

  std::int64_t count() const { return std::max<std::int64_t>(end - begin, 0); }

  std::int64_t begin;
  std::int64_t end;
};

// `count` <= chunk_of() outputs of row y of layer z, from column x on, and the layers and rows of
// the input that they cover.
struct Chunk {
  Chunk(const PoolProblem& p, std::int64_t z, std::int64_t y, std::int64_t x)
      : x(x),
        count(std::min(chunk_of(p), p.out[kWidth] - x)),
        layers(p, kDepth, z),
        rows(p, kHeight, y) {}

  std::int64_t x;
  std::int64_t count;
  Covered layers;
  Covered rows;
};

// Calls f(offset, first, last) for every element of the window: output j of the chunk, for j in
// [first, last), has it at offset + j * stride_width of the plane; the others have padding there.
template <class F>
void for_taps(const PoolProblem& p, const Chunk& chunk, const F& f) {
  const std::int64_t left = begin_of(p, kWidth, chunk.x);
  // Columns that lie in the padding for every output of the chunk are not looked at.
  const std::int64_t begin =
      std::max<std::int64_t>(-left - (chunk.count - 1) * p.stride[kWidth], 0);
  const std::int64_t end = std::min(end_of(p, kWidth, chunk.x), p.in[kWidth]) - left;
  for (std::int64_t column = begin; column < end; ++column) {
    const std::int64_t start = left + column;
    const std::int64_t first = start < 0 ? (-start + p.stride[kWidth] - 1) / p.stride[kWidth] : 0;
    const std::int64_t last =
        std::min(chunk.count, (p.in[kWidth] - start + p.stride[kWidth] - 1) / p.stride[kWidth]);
    for (std::int64_t layer = chunk.layers.begin; layer < chunk.layers.end; ++layer) {
      for (std::int64_t row = chunk.rows.begin; row < chunk.rows.end; ++row) {
        f((layer * p.in[kHeight] + row) * p.in[kWidth] + start, first, last);
      }
    }
  }
}

// The maximum of each window.
template <class T>
void maxima(const PoolProblem& p, const Chunk& chunk, const T* plane, T* best) {
  std::fill_n(best, kChunk, -std::numeric_limits<T>::infinity());
  const std::int64_t stride = p.stride[kWidth];
  for_taps(p, chunk, [&](std::int64_t offset, std::int64_t first, std::int64_t last) {
#pragma omp simd
    for (std::int64_t j = first; j < last; ++j) {
      const T value = plane[offset + j * stride];
      best[j] = ((value > best[j]) | (value != value)) ? value : best[j];  // a NaN stays
    }
  });
}

// Where the first maximum of each window is.
template <class T>
void first_maxima(
    Isa isa, const PoolProblem& p, const Chunk& chunk, const T* plane, std::int64_t* index) {
  run_on(isa, [&] {
    T best[kChunk];
    maxima(p, chunk, plane, best);
    std::fill_n(index, kChunk, std::numeric_limits<std::int64_t>::max());
    const std::int64_t stride = p.stride[kWidth];
    for_taps(p, chunk, [&](std::int64_t offset, std::int64_t first, std::int64_t last) {
#pragma omp simd
      for (std::int64_t j = first; j < last; ++j) {
        const std::int64_t at = offset + j * stride;
        const T value = plane[at];
        const bool is_best = (value == best[j]) | (value != value);
        index[j] = (is_best & (at < index[j])) ? at : index[j];
      }
    });
  });
}

// How many elements each window has.
template <class T>
void sizes(const PoolProblem& p, const Chunk& chunk, T* size) {
  const std::int64_t lines = chunk.layers.count() * chunk.rows.count();
  for (std::int64_t j = 0; j < chunk.count; ++j) {
    size[j] = static_cast<T>(lines * Covered(p, kWidth, chunk.x + j).count());
  }
}

template <class T>
void pool_chunk(Isa isa, const PoolProblem& p, const Chunk& chunk, const T* plane, T* out) {
  T size[kChunk];
  if (p.pooling != Pooling::kMax) sizes(p, chunk, size);
  run_on(isa, [&] {
    T result[kChunk];
    if (p.pooling == Pooling::kMax) {
      maxima(p, chunk, plane, result);
    } else {
      std::fill_n(result, kChunk, T(0));
      const std::int64_t stride = p.stride[kWidth];
      for_taps(p, chunk, [&](std::int64_t offset, std::int64_t first, std::int64_t last) {
#pragma omp simd
        for (std::int64_t j = first; j < last; ++j) result[j] += plane[offset + j * stride];
      });
#pragma omp simd
      for (std::int64_t j = 0; j < chunk.count; ++j) result[j] /= size[j];
    }
    std::copy_n(result, chunk.count, out);
  });
}

template <class T>
void add_chunk_grad(Isa isa,
                    const PoolProblem& p,
                    const Chunk& chunk,
                    const T* plane,
                    const T* out_grad,
                    T* plane_grad) {
  if (p.pooling == Pooling::kMax) {
    std::int64_t index[kChunk];
    first_maxima(isa, p, chunk, plane, index);
    for (std::int64_t j = 0; j < chunk.count; ++j) plane_grad[index[j]] += out_grad[j];
    return;
  }
  T share[kChunk];
  sizes(p, chunk, share);
  for (std::int64_t j = 0; j < chunk.count; ++j) share[j] = out_grad[j] / share[j];
  run_on(isa, [&] {
    const std::int64_t stride = p.stride[kWidth];
    for_taps(p, chunk, [&](std::int64_t offset, std::int64_t first, std::int64_t last) {
#pragma omp simd
      for (std::int64_t j = first; j < last; ++j) plane_grad[offset + j * stride] += share[j];
    });
  });
}

// Calls f(chunk, index of its first output) for all outputs of a plane.
template <class F>
void for_chunks(const PoolProblem& p, std::int64_t plane, const F& f) {
  std::int64_t line = plane * p.out_plane();
  for (std::int64_t z = 0; z < p.out[kDepth]; ++z) {
    for (std::int64_t y = 0; y < p.out[kHeight]; ++y, line += p.out[kWidth]) {
      for (std::int64_t x = 0; x < p.out[kWidth]; x += chunk_of(p)) f(Chunk(p, z, y, x), line + x);
    }
  }
}

// Planes that are worth a thread.
std::int64_t grain(const PoolProblem& p) {
  constexpr double kThreadWork = 1 << 15;
  double work = 1;
  for (const Spatial& extents : {p.out, p.kernel}) {
    for (const std::int64_t extent : extents) work *= static_cast<double>(extent);
  }
  return static_cast<std::int64_t>(kThreadWork / std::max(work, 1.0)) + 1;
}

}  // namespace

template <class T>
Prepared1<T> prepare_pool(const PoolProblem& p) {
  return [p, isa = cpu_isa()](const T* x, T* out) {
    parallel_for(p.planes(), grain(p), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const T* from = x + plane * p.in_plane();
        for_chunks(p, plane, [&](const Chunk& chunk, std::int64_t i) {
          pool_chunk(isa, p, chunk, from, out + i);
        });
      }
    });
  };
}

template <class T>
Prepared2<T> prepare_pool_grad(const PoolProblem& p) {
  return [p, isa = cpu_isa()](const T* x, const T* out_grad, T* x_grad) {
    parallel_for(p.planes(), grain(p), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t size = p.in_plane();
      std::fill(x_grad + begin * size, x_grad + end * size, T(0));
      for (std::int64_t plane = begin; plane < end; ++plane) {
        for_chunks(p, plane, [&](const Chunk& chunk, std::int64_t i) {
          add_chunk_grad(isa, p, chunk, x + plane * size, out_grad + i, x_grad + plane * size);
        });
      }
    });
  };
}

// Calls f(index of an output, index of its plane's first element, place of its first maximum in the
// plane) for all outputs.
template <class T, class F>
void for_maxima(const PoolProblem& p, const T* x, const F& f) {
  parallel_for(p.planes(), grain(p), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t start = plane * p.in_plane();
      for_chunks(p, plane, [&](const Chunk& chunk, std::int64_t i) {
        std::int64_t index[kChunk];
        first_maxima(cpu_isa(), p, chunk, x + start, index);
        for (std::int64_t j = 0; j < chunk.count; ++j) f(i + j, start, index[j]);
      });
    }
  });
}

template <class T>
Prepared2<T> prepare_pool_pick(const PoolProblem& p) {
  return [p](const T* x, const T* values, T* out) {
    for_maxima(p, x, [=](std::int64_t i, std::int64_t plane, std::int64_t index) {
      out[i] = values[plane + index];
    });
  };
}

template <class T>
MaxPoolWithIndex<T> prepare_max_pool_with_index(const PoolProblem& p) {
  return [p](const T* x, T* out, std::int32_t* mask) {
    for_maxima(p, x, [=](std::int64_t i, std::int64_t plane, std::int64_t index) {
      out[i] = x[plane + index];
      mask[i] = static_cast<std::int32_t>(index);
    });
  };
}

template Prepared1<float> prepare_pool<float>(const PoolProblem&);
template Prepared1<double> prepare_pool<double>(const PoolProblem&);
template Prepared2<float> prepare_pool_grad<float>(const PoolProblem&);
template Prepared2<double> prepare_pool_grad<double>(const PoolProblem&);
template Prepared2<float> prepare_pool_pick<float>(const PoolProblem&);
template Prepared2<double> prepare_pool_pick<double>(const PoolProblem&);
template MaxPoolWithIndex<float> prepare_max_pool_with_index<float>(const PoolProblem&);
template MaxPoolWithIndex<double> prepare_max_pool_with_index<double>(const PoolProblem&);

}  // namespace fluidcore::cpu
