#pragma once

#include <algorithm>
#include <cstdint>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

// Calls f(row) for all rows, compiled for the processor; parts of them on several threads.
template <class F>
void for_rows(std::int64_t rows, std::int64_t columns, const F& f) {
  constexpr std::int64_t kThreadWork = 8192;  // elements
  const Isa isa = cpu_isa();
  parallel_for(rows, kThreadWork / std::max<std::int64_t>(columns, 1) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 run_on(isa, [&] {
                   for (std::int64_t row = begin; row < end; ++row) f(row);
                 });
               });
}

// The sum of f(i) for i in [0, size), in double.
template <class F>
double sum_of_row(std::int64_t size, const F& f) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t i = 0; i < size; ++i) total += static_cast<double>(f(i));
  return total;
}

}  // namespace fluidcore::cpu
