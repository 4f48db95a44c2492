#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fluidcore/gradcheck/function/gradient.h"
#include "fluidcore/gradcheck/verdict/linearity.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

using Tensors = std::vector<Tensor>;  // one for each input, or for each output

// What gradient code calculates at its point, and what can be seen of it without differences.
struct AuditedGradient {
  std::vector<std::vector<double>> values;  // by input: [cotangents, elements]
  // By input: [elements], one standard deviation of runs at the point; empty if they give the same.
  std::vector<std::vector<double>> deviations;
  std::vector<std::string> faults;  // by input: "wrong-shape", "not-repeatable", or nothing
  std::vector<Linear> linear;       // by input
};

struct AuditOptions {
  double tolerance = 0;  // a relative error that is right
  std::uint64_t seed = 0;
};

// For each of the cotangents, which are rounded to the dtype of the first input. Every one is run
// again after a run elsewhere without a cotangent, for code that keeps values of an earlier run is
// not right. Then -1/64 of it has -1/64 of the gradient, a sum of two has the sum, and none has
// none. `outputs` are those of f at the point.
AuditedGradient audited(Gradient& gradient,
                        const std::vector<Tensors>& cotangents,
                        const Tensors& outputs,
                        const AuditOptions& options);

// Adds the elements of a floating tensor.
void append(std::vector<double>& to, const Tensor& tensor);

}  // namespace fluidcore::gradcheck
