#pragma once

#include <algorithm>
#include <cstdint>

#include "fluidcore/base/division.h"
#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/rows.h"

namespace fluidcore::cpu {

// Elements that are summed before anything else; the result depends on it, but not on threads.
inline constexpr std::int64_t kTotalBlock = 16384;

inline std::int64_t total_blocks(std::int64_t size) {
  return divide_up(size, kTotalBlock);
}

// The sum of f(i) over all i in [0, size); `partial` is memory for total_blocks(size) numbers.
template <class F>
double total_of(const F& f, std::int64_t size, double* partial) {
  for_rows(total_blocks(size), kTotalBlock, [=](std::int64_t block) {
    const std::int64_t first = block * kTotalBlock;
    const std::int64_t count = std::min(kTotalBlock, size - first);
    partial[block] = sum_of_row(count, [=](std::int64_t i) { return f(first + i); });
  });
  double sum = 0;
  for (std::int64_t block = 0; block < total_blocks(size); ++block) sum += partial[block];
  return sum;
}

// Of f(x[i]), where f takes and gives ComputeType<T>.
template <class F, class T>
double total(const F& f, std::int64_t size, const T* x, double* partial) {
  return total_of([=](std::int64_t i) { return f(static_cast<ComputeType<T>>(x[i])); }, size,
                  partial);
}

}  // namespace fluidcore::cpu
