#pragma once

#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// -1/64 of a cotangent: no number is rounded by that, nor what is linear in it.
Tensor scaled_exactly(const Tensor& cotangent);

// Whether a gradient is that of a cotangent before it was scaled, times -1/64, but for what is so
// small or large that the dtype does not hold all of its digits. Both have the same spec; where the
// first is not finite nothing is said.
bool is_scaled_exactly(const Tensor& gradient, const Tensor& before);

}  // namespace fluidcore::gradcheck
