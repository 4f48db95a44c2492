#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"

namespace fluidcore::gradcheck {

// Derivatives by one element after the other, for one cotangent.
inline Derivatives known_derivatives(const std::vector<double>& values, double error = 0) {
  Derivatives reference(1, std::ssize(values));
  reference.value = reference.low = reference.high = values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    reference.error[i] = error;
    reference.scale[i] = std::abs(values[i]);
  }
  return reference;
}

}  // namespace fluidcore::gradcheck
