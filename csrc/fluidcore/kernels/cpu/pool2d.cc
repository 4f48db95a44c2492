#include "fluidcore/kernels/cpu/pool2d.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

namespace {

// Outputs of a row that are calculated together, side by side.
constexpr std::int64_t kChunk = 64;

// `count` <= kChunk outputs of row y, from column x on, and the rows of the input that they cover.
struct Chunk {
  Chunk(const Pool2dProblem& p, std::int64_t y, std::int64_t x)
      : x(x),
        count(std::min(kChunk, p.out_width - x)),
        top(std::max<std::int64_t>(y * p.stride_height - p.pad_height, 0)),
        bottom(std::min(y * p.stride_height - p.pad_height + p.kernel_height, p.height)) {}

  std::int64_t x;
  std::int64_t count;
  std::int64_t top;
  std::int64_t bottom;
};

// Calls f(offset, first, last) for every element of the window: output j of the chunk, for j in
// [first, last), has it at offset + j * stride_width of the plane; the others have padding there.
template <class F>
void for_taps(const Pool2dProblem& p, const Chunk& chunk, const F& f) {
  const std::int64_t left = chunk.x * p.stride_width - p.pad_width;
  // Columns that lie in the padding for every output of the chunk are not looked at.
  const std::int64_t begin = std::max<std::int64_t>(-left - (chunk.count - 1) * p.stride_width, 0);
  const std::int64_t end = std::min(p.kernel_width, p.width - left);
  for (std::int64_t column = begin; column < end; ++column) {
    const std::int64_t start = left + column;
    const std::int64_t first = start < 0 ? (-start + p.stride_width - 1) / p.stride_width : 0;
    const std::int64_t last =
        std::min(chunk.count, (p.width - start + p.stride_width - 1) / p.stride_width);
    for (std::int64_t row = chunk.top; row < chunk.bottom; ++row) {
      f(row * p.width + start, first, last);
    }
  }
}

// The maximum of each window.
template <class T>
void maxima(const Pool2dProblem& p, const Chunk& chunk, const T* plane, T* best) {
  std::fill_n(best, kChunk, -std::numeric_limits<T>::infinity());
  const std::int64_t stride = p.stride_width;
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
void first_maxima(const Pool2dProblem& p, const Chunk& chunk, const T* plane, std::int64_t* index) {
  T best[kChunk];
  maxima(p, chunk, plane, best);
  std::fill_n(index, kChunk, std::numeric_limits<std::int64_t>::max());
  const std::int64_t stride = p.stride_width;
  for_taps(p, chunk, [&](std::int64_t offset, std::int64_t first, std::int64_t last) {
#pragma omp simd
    for (std::int64_t j = first; j < last; ++j) {
      const std::int64_t at = offset + j * stride;
      const T value = plane[at];
      const bool is_best = (value == best[j]) | (value != value);
      index[j] = (is_best & (at < index[j])) ? at : index[j];
    }
  });
}

// How many elements each window has.
template <class T>
void sizes(const Pool2dProblem& p, const Chunk& chunk, T* size) {
  std::fill_n(size, kChunk, T(0));
  for_taps(p, chunk, [&](std::int64_t, std::int64_t first, std::int64_t last) {
#pragma omp simd
    for (std::int64_t j = first; j < last; ++j) size[j] += T(1);
  });
}

template <class T>
void pool_chunk(const Pool2dProblem& p, const Chunk& chunk, const T* plane, T* out) {
  T result[kChunk];
  if (p.pooling == Pooling::kMax) {
    maxima(p, chunk, plane, result);
  } else {
    T size[kChunk];
    sizes(p, chunk, size);
    std::fill_n(result, kChunk, T(0));
    const std::int64_t stride = p.stride_width;
    for_taps(p, chunk, [&](std::int64_t offset, std::int64_t first, std::int64_t last) {
#pragma omp simd
      for (std::int64_t j = first; j < last; ++j) result[j] += plane[offset + j * stride];
    });
#pragma omp simd
    for (std::int64_t j = 0; j < chunk.count; ++j) result[j] /= size[j];
  }
  std::copy_n(result, chunk.count, out);
}

template <class T>
void add_chunk_grad(
    const Pool2dProblem& p, const Chunk& chunk, const T* plane, const T* out_grad, T* plane_grad) {
  if (p.pooling == Pooling::kMax) {
    std::int64_t index[kChunk];
    first_maxima(p, chunk, plane, index);
    for (std::int64_t j = 0; j < chunk.count; ++j) plane_grad[index[j]] += out_grad[j];
    return;
  }
  T share[kChunk];
  sizes(p, chunk, share);
  for (std::int64_t j = 0; j < chunk.count; ++j) share[j] = out_grad[j] / share[j];
  const std::int64_t stride = p.stride_width;
  for_taps(p, chunk, [&](std::int64_t offset, std::int64_t first, std::int64_t last) {
#pragma omp simd
    for (std::int64_t j = first; j < last; ++j) plane_grad[offset + j * stride] += share[j];
  });
}

// Calls f(chunk, index of its first output) for all outputs of a plane.
template <class F>
void for_chunks(const Pool2dProblem& p, std::int64_t plane, const F& f) {
  for (std::int64_t y = 0; y < p.out_height; ++y) {
    for (std::int64_t x = 0; x < p.out_width; x += kChunk) {
      f(Chunk(p, y, x), (plane * p.out_height + y) * p.out_width + x);
    }
  }
}

// Planes that are worth a thread.
std::int64_t grain(const Pool2dProblem& p) {
  constexpr std::int64_t kThreadWork = 1 << 15;
  const std::int64_t work = p.out_height * p.out_width * p.kernel_height * p.kernel_width;
  return kThreadWork / std::max<std::int64_t>(work, 1) + 1;
}

}  // namespace

template <class T>
Prepared1<T> prepare_pool2d(const Pool2dProblem& p) {
  return [p, isa = cpu_isa()](const T* x, T* out) {
    parallel_for(p.planes(), grain(p), [&](std::int64_t begin, std::int64_t end) {
      run_on(isa, [&] {
        for (std::int64_t plane = begin; plane < end; ++plane) {
          const T* from = x + plane * p.height * p.width;
          for_chunks(p, plane, [&](const Chunk& chunk, std::int64_t i) {
            pool_chunk(p, chunk, from, out + i);
          });
        }
      });
    });
  };
}

template <class T>
Prepared2<T> prepare_pool2d_grad(const Pool2dProblem& p) {
  return [p, isa = cpu_isa()](const T* x, const T* out_grad, T* x_grad) {
    parallel_for(p.planes(), grain(p), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t size = p.height * p.width;
      std::fill(x_grad + begin * size, x_grad + end * size, T(0));
      run_on(isa, [&] {
        for (std::int64_t plane = begin; plane < end; ++plane) {
          for_chunks(p, plane, [&](const Chunk& chunk, std::int64_t i) {
            add_chunk_grad(p, chunk, x + plane * size, out_grad + i, x_grad + plane * size);
          });
        }
      });
    });
  };
}

template <class T>
Prepared2<T> prepare_pool2d_pick(const Pool2dProblem& p) {
  return [p, isa = cpu_isa()](const T* x, const T* values, T* out) {
    parallel_for(p.planes(), grain(p), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t size = p.height * p.width;
      run_on(isa, [&] {
        for (std::int64_t plane = begin; plane < end; ++plane) {
          for_chunks(p, plane, [&](const Chunk& chunk, std::int64_t i) {
            std::int64_t index[kChunk];
            first_maxima(p, chunk, x + plane * size, index);
            for (std::int64_t j = 0; j < chunk.count; ++j) {
              out[i + j] = values[plane * size + index[j]];
            }
          });
        }
      });
    });
  };
}

template Prepared1<float> prepare_pool2d<float>(const Pool2dProblem&);
template Prepared1<double> prepare_pool2d<double>(const Pool2dProblem&);
template Prepared2<float> prepare_pool2d_grad<float>(const Pool2dProblem&);
template Prepared2<double> prepare_pool2d_grad<double>(const Pool2dProblem&);
template Prepared2<float> prepare_pool2d_pick<float>(const Pool2dProblem&);
template Prepared2<double> prepare_pool2d_pick<double>(const Pool2dProblem&);

}  // namespace fluidcore::cpu
