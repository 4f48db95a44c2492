#pragma once

#include <vector>

#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

// Every instruction set that loops are compiled for and this processor can run.
inline std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= cpu_isa() && has_loops_for(isa)) isas.push_back(isa);
  }
  return isas;
}

// Those of them that have vectors of floats that a loop may name: AVX2 and more.
inline std::vector<Isa> vector_isas() {
  std::vector<Isa> isas = available_isas();
  std::erase(isas, Isa::kBaseline);
  return isas;
}

}  // namespace fluidcore::cpu
