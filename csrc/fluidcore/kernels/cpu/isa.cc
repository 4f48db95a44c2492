#include "fluidcore/kernels/cpu/isa.h"

#include <algorithm>
#include <array>

#include "fluidcore/base/error.h"

namespace fluidcore::cpu {

namespace {

Isa isa_of_processor() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  if (!avx2) return Isa::kBaseline;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
}

Isa detect() {
  constexpr std::array kFromBest{Isa::kAvx512, Isa::kAvx2, Isa::kBaseline};
  const Isa has = isa_of_processor();
  const auto* const found = std::find_if(kFromBest.begin(), kFromBest.end(),
                                         [&](Isa isa) { return isa <= has && has_loops_for(isa); });
  if (found != kFromBest.end()) return *found;
  const Isa needs = *std::find_if(kFromBest.begin(), kFromBest.end(), has_loops_for);
  throw Error("fluidcore: the processor must have ", to_string(needs),
              ", which this library is compiled for, got ", to_string(has),
              "; FLUIDCORE_ISA, an option of CMake, chooses what it is compiled for");
}

}  // namespace

Isa cpu_isa() {
  static const Isa kIsa = detect();
  return kIsa;
}

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::kAvx512: return "avx512";
    case Isa::kAvx2: return "avx2";
    case Isa::kBaseline: break;
  }
  return "baseline";
}

}  // namespace fluidcore::cpu
