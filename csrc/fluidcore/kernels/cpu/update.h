#pragma once

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

// Applies an update rule to `size` elements in one pass over the memory.
template <class Rule, class T, class... State>
void update(const Rule& rule, std::int64_t size, const T* grad, State... state) {
  constexpr std::int64_t kThreadWork = 32768;
  const Isa isa = cpu_isa();
  parallel_for(size, kThreadWork, [&](std::int64_t begin, std::int64_t end) {
    run_on(isa, [=] {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        const auto step = [&](auto... values) {
          rule(grad[i], values...);
          ((state.to[i] = values), ...);
        };
        step(state.from[i]...);
      }
    });
  });
}

}  // namespace fluidcore::cpu
