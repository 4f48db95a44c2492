#pragma once

#include <string_view>

namespace fluidcore::cpu {

// The instruction sets that loops are compiled for; each includes the ones before it.
enum class Isa { kBaseline, kAvx2, kAvx512 };

// The best one that this processor and operating system have and loops are compiled for. Asked
// once; throws Error if there is none.
Isa cpu_isa();

std::string_view to_string(Isa isa);  // "baseline", "avx2", "avx512"

// Whether loops are compiled for it: FLUIDCORE_ISA, an option of CMake, may name one alone.
constexpr bool has_loops_for([[maybe_unused]] Isa isa) {
#ifdef FLUIDCORE_ONLY_ISA
  return isa == Isa::FLUIDCORE_ONLY_ISA;
#else
  return true;
#endif
}

// One name for each instruction set, so that the linker never takes the code of one for another.
// Everything that `loop` calls must be inline: `flatten` then compiles all of it for the set. A set
// that no loops are compiled for does nothing.
//
// Few processors are left without AVX2: beside other sets their loops are compiled for size.
template <class Loop>
#ifndef FLUIDCORE_ONLY_ISA
[[gnu::cold]]
#endif
[[gnu::flatten]] void run_baseline(const Loop& loop) {
  if constexpr (has_loops_for(Isa::kBaseline)) loop();
}
template <class Loop>
[[gnu::target("avx2,fma,f16c,bmi,bmi2"), gnu::flatten]] void run_avx2(const Loop& loop) {
  if constexpr (has_loops_for(Isa::kAvx2)) loop();
}
template <class Loop>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2,prefer-vector-width=512"),
  gnu::flatten]] void
run_avx512(const Loop& loop) {
  if constexpr (has_loops_for(Isa::kAvx512)) loop();
}

// Calls loop(), compiled for `isa`: plain C++ that the compiler vectorizes.
//
//   run_on(cpu_isa(), [=] { for (int i = 0; i < n; ++i) out[i] = a[i] + b[i]; });
//
// `isa` must be one that the processor has.
template <class Loop>
void run_on(Isa isa, const Loop& loop) {
  switch (isa) {
    case Isa::kAvx512:
      if constexpr (has_loops_for(Isa::kAvx512)) return run_avx512(loop);
      break;
    case Isa::kAvx2:
      if constexpr (has_loops_for(Isa::kAvx2)) return run_avx2(loop);
      break;
    case Isa::kBaseline:
      if constexpr (has_loops_for(Isa::kBaseline)) return run_baseline(loop);
      break;
  }
}

}  // namespace fluidcore::cpu
