#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// What gradient code calculates at its point, and what can be seen of it without differences.
struct AuditedGradient {
  std::vector<std::vector<double>> values;  // by input: [cotangents, elements]
  std::vector<std::string> faults;          // by input: "wrong-shape", "not-repeatable", or nothing
  std::vector<bool> is_linear;              // by input: in the cotangent
};

// For each of the cotangents, which are rounded to the dtype of the first input. Every one is run
// twice after a run elsewhere, for code that keeps values of an earlier run is not right, and then
// for -1/64 of it.
AuditedGradient audited(Gradient& gradient,
                        const std::vector<std::vector<Tensor>>& cotangents,
                        std::uint64_t seed);

// Adds the elements of a floating tensor.
void append(std::vector<double>& to, const Tensor& tensor);

}  // namespace fluidcore::gradcheck
