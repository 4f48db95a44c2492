#include "fluidcore/kernels/cpu/gemv.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/gemm.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kThreadWork = std::int64_t{1} << 15;  // elements of the matrix
constexpr std::int64_t kSlabUnit = 16;                       // columns

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLine = 64;
constexpr std::size_t kSumBytes = 16384;  // of sums that stay in the first cache
template <class T>
constexpr auto kColumns = static_cast<std::int64_t>(kSumBytes / sizeof(T));

// Memory for sums, half a page away from `rows` in the numbers of their bytes within a page. A load
// waits for a store right before it that has the same number, as if it were of the same byte.
template <class T>
T* sums_in(std::byte* memory, const T* rows) {
  const auto number = reinterpret_cast<std::uintptr_t>(rows) % kPage / kLine * kLine;
  return reinterpret_cast<T*>(memory + (number + kPage / 2) % kPage);
}

// y[j] = sum over i of x[i] rows[i * stride + j], for the columns [begin, end): the products in
// order.
template <class T>
void combine_rows(std::int64_t count,
                  std::int64_t stride,
                  const T* x,
                  const T* rows,
                  std::int64_t begin,
                  std::int64_t end,
                  T* y) {
  // Rows that are read together: few, since rows whose distance is a power of two share the lines
  // of a cache.
  constexpr std::int64_t kRows = 4;
  for (std::int64_t first = begin; first < end; first += kColumns<T>) {
    const std::int64_t size = std::min(kColumns<T>, end - first);
    alignas(kPage) std::array<std::byte, kSumBytes + kPage> memory;
    T* const sums = sums_in(memory.data(), rows + first);
    std::fill_n(sums, size, T(0));
    std::int64_t i = 0;
    for (; i + kRows <= count; i += kRows) {
      const T* const from = rows + i * stride + first;
      std::array<T, kRows> factor;
      for (std::int64_t r = 0; r < kRows; ++r) factor[static_cast<std::size_t>(r)] = x[i + r];
#pragma omp simd
      for (std::int64_t j = 0; j < size; ++j) {
        T sum = sums[j];
        sum += factor[0] * from[j];
        sum += factor[1] * from[stride + j];
        sum += factor[2] * from[2 * stride + j];
        sum += factor[3] * from[3 * stride + j];
        sums[j] = sum;
      }
    }
    for (; i < count; ++i) {
      const T* const from = rows + i * stride + first;
      const T factor = x[i];
#pragma omp simd
      for (std::int64_t j = 0; j < size; ++j) sums[j] += factor * from[j];
    }
    std::copy_n(sums, size, y + first);
  }
}

// y[j] = sum over i of x[i] columns[j * stride + i], for the columns [begin, end).
template <class T>
void dot_columns(std::int64_t count,
                 std::int64_t stride,
                 const T* x,
                 const T* columns,
                 std::int64_t begin,
                 std::int64_t end,
                 T* y) {
  std::int64_t j = begin;
  for (; j + 4 <= end; j += 4) {
    const T* const from = columns + j * stride;
    T a = 0;
    T b = 0;
    T c = 0;
    T d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
    for (std::int64_t i = 0; i < count; ++i) {
      a += x[i] * from[i];
      b += x[i] * from[stride + i];
      c += x[i] * from[2 * stride + i];
      d += x[i] * from[3 * stride + i];
    }
    y[j] = a;
    y[j + 1] = b;
    y[j + 2] = c;
    y[j + 3] = d;
  }
  for (; j < end; ++j) {
    const T* const from = columns + j * stride;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) sum += x[i] * from[i];
    y[j] = sum;
  }
}

// One of the loops above, compiled for the instruction set of this processor.
template <class T>
using Loop = void (*)(std::int64_t count,
                      std::int64_t stride,
                      const T* x,
                      const T* matrix,
                      std::int64_t begin,
                      std::int64_t end,
                      T* y);
template <class T, Loop<T> loop>
void run_loop(std::int64_t count,
              std::int64_t stride,
              const T* x,
              const T* matrix,
              std::int64_t begin,
              std::int64_t end,
              T* y) {
  run_on(cpu_isa(), [=] { loop(count, stride, x, matrix, begin, end, y); });
}

// Combines whole rows, which are read fastest from one end to the other: a piece of each sum by
// itself, of all columns where there are as many pieces as threads.
template <class T>
Prepared2<T> combine_pieces(std::int64_t count, std::int64_t columns, std::int64_t stride) {
  const std::int64_t rows = sum_piece(count);
  const std::int64_t pieces = divide_up(count, rows);
  const std::int64_t threads =
      std::clamp<std::int64_t>(count * columns / kThreadWork, 1, num_threads());
  const std::int64_t slab = round_up(divide_up(columns, divide_up(threads, pieces)), kSlabUnit);
  const std::int64_t slabs = divide_up(columns, slab);
  const auto sums =
      std::make_shared<std::vector<T>>(static_cast<std::size_t>((pieces - 1) * columns));
  return [=, isa = cpu_isa()](const T* x, const T* matrix, T* y) {
    const auto sums_of = [&](std::int64_t piece) {
      return piece == 0 ? y : sums->data() + (piece - 1) * columns;
    };
    parallel_for(pieces * slabs, pieces * slabs / threads,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t task = begin; task < end; ++task) {
                     const std::int64_t piece = task / slabs;
                     const std::int64_t row = piece * rows;
                     const std::int64_t column = task % slabs * slab;
                     run_loop<T, combine_rows<T>>(std::min(rows, count - row), stride, x + row,
                                                  matrix + row * stride, column,
                                                  std::min(column + slab, columns), sums_of(piece));
                   }
                 });
    run_on(isa, [&] {
      for (std::int64_t piece = 1; piece < pieces; ++piece) {
        const T* const from = sums_of(piece);
#pragma omp simd
        for (std::int64_t j = 0; j < columns; ++j) y[j] += from[j];
      }
    });
  };
}

}  // namespace

template <class T>
Prepared2<T> prepare_gemv(const MatmulProblem& original) {
  const MatmulProblem problem = simplified(original);
  if (!problem.batch.empty() || problem.is_empty()) return nullptr;
  if (problem.m != 1) {
    if (problem.n != 1) return nullptr;
    const Prepared2<T> product = prepare_gemv<T>(transposed(problem));
    if (!product) return nullptr;
    return [product](const T* matrix, const T* x, T* y) { product(x, matrix, y); };
  }
  const auto is_dense = [](std::int64_t stride, std::int64_t extent) {
    return stride == 1 || extent == 1;
  };
  const std::int64_t k = problem.k;
  const std::int64_t n = problem.n;
  const bool by_columns = problem.b.row == 1 && (n == 1 || problem.b.col != 1);
  if (!is_dense(problem.a.col, k) || !is_dense(problem.c.col, n)) return nullptr;
  if (!by_columns && !is_dense(problem.b.col, n)) return nullptr;
  const std::int64_t stride = by_columns ? problem.b.col : problem.b.row;
  if (!by_columns) return combine_pieces<T>(k, n, stride);
  return [=](const T* x, const T* matrix, T* y) {
    parallel_for(n, kThreadWork / k + 1, [=](std::int64_t begin, std::int64_t end) {
      run_loop<T, dot_columns<T>>(k, stride, x, matrix, begin, end, y);
    });
  };
}

template Prepared2<float> prepare_gemv<float>(const MatmulProblem& problem);
template Prepared2<double> prepare_gemv<double>(const MatmulProblem& problem);

}  // namespace fluidcore::cpu
