#pragma once

#include <string_view>

namespace fluidcore::cpu {

// The instruction sets that loops are compiled for; each includes the ones before it.
enum class Isa { kBaseline, kAvx2, kAvx512 };

// The best one that this processor and operating system have. Asked once.
Isa cpu_isa();

std::string_view to_string(Isa isa);  // "baseline", "avx2", "avx512"

// One name for each instruction set, so that the linker never takes the code of one for another.
// Everything that `loop` calls must be inline: `flatten` then compiles all of it for the set.
template <class Loop>
[[gnu::flatten]] void run_baseline(const Loop& loop) {
  loop();
}
template <class Loop>
[[gnu::target("avx2,fma,f16c,bmi,bmi2"), gnu::flatten]] void run_avx2(const Loop& loop) {
  loop();
}
template <class Loop>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2,prefer-vector-width=512"),
  gnu::flatten]] void
run_avx512(const Loop& loop) {
  loop();
}

// Calls loop(), compiled for `isa`: plain C++ that the compiler vectorizes.
//
//   run_on(cpu_isa(), [=] { for (int i = 0; i < n; ++i) out[i] = a[i] + b[i]; });
//
// `isa` must be one that the processor has.
template <class Loop>
void run_on(Isa isa, const Loop& loop) {
  switch (isa) {
    case Isa::kAvx512: return run_avx512(loop);
    case Isa::kAvx2: return run_avx2(loop);
    case Isa::kBaseline: return run_baseline(loop);
  }
}

}  // namespace fluidcore::cpu
