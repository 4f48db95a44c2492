#pragma once

#include <cmath>

#include "kernels/numbers.h"

namespace fluidcore::math {

// How far `value` is from `exact`, in units in the last place of its type.
inline double ulps(double value, long double exact) {
  const double magnitude = std::abs(static_cast<double>(exact));
  return static_cast<double>(std::abs(static_cast<long double>(value) - exact) /
                             (std::nextafter(magnitude, kDoubleInfinity) - magnitude));
}
inline double ulps(float value, double exact) {
  const float magnitude = std::abs(static_cast<float>(exact));
  return std::abs(value - exact) / (std::nextafter(magnitude, kInfinity) - magnitude);
}

}  // namespace fluidcore::math
