#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// A direction in which one input moves, and the cotangent that the derivative is projected on.
struct Probe {
  std::vector<double> direction;
  std::vector<double> cotangent;
  bool traces = false;  // notes the levels
};

struct ProbeOptions {
  std::vector<double> noise;  // as in Question
  std::int64_t workers = 1;   // threads; they change no result
  Approach approach = {};
};

// For each probe what differentiate_along() gives for that direction of input number `input`, bit
// for bit. What does not depend on the input runs once.
std::vector<Derivatives> differentiate_probes(Function& function,
                                              std::size_t input,
                                              const std::vector<Probe>& probes,
                                              const ProbeOptions& options = {});

}  // namespace fluidcore::gradcheck
