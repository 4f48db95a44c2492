#pragma once

#include <algorithm>
#include <cstdint>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

// One tensor of an optimizer before and after a step; the two may be one memory.
template <class T>
struct Updated {
  const T* from;
  T* to;
};

// The tensors of an optimizer, from an element on.
template <class T>
Updated<T> from_element(Updated<T> tensor, std::int64_t element) {
  return {tensor.from + element, tensor.to + element};
}

inline constexpr std::int64_t kUpdateThreadWork = 32768;  // elements

// On the thread that calls it.
template <class Rule, class T, class... State>
[[gnu::noinline]] void update_part(
    Isa isa, const Rule& rule, std::int64_t size, const T* grad, State... state) {
  run_on(isa, [=] {
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i) {
      const auto step = [&](auto... values) {
        rule(grad[i], values...);
        ((state.to[i] = values), ...);
      };
      step(state.from[i]...);
    }
  });
}

// Applies an update rule to `size` elements in one pass over the memory.
template <class Rule, class T, class... State>
void update(const Rule& rule, std::int64_t size, const T* grad, State... state) {
  const Isa isa = cpu_isa();
  parallel_for(size, kUpdateThreadWork, [&](std::int64_t begin, std::int64_t end) {
    update_part(isa, rule, end - begin, grad + begin, from_element(state, begin)...);
  });
}

// Different rows of a table, and how many elements each has.
struct UpdatedRows {
  std::int64_t count;
  const std::int64_t* numbers;
  std::int64_t width;
};

// Applies an update rule to some rows; `grad` holds those, [count, width].
template <class Rule, class T, class... State>
void update_rows(const Rule& rule, const UpdatedRows& rows, const T* grad, State... state) {
  const Isa isa = cpu_isa();
  const std::int64_t width = rows.width;
  const std::int64_t grain = kUpdateThreadWork / std::max<std::int64_t>(width, 1);
  parallel_for(rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      update_part(isa, rule, width, grad + i * width,
                  from_element(state, rows.numbers[i] * width)...);
    }
  });
}

}  // namespace fluidcore::cpu
