#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "fluidcore/base/philox.h"

namespace fluidcore::gradcheck {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kFloat32Unit = 0x1p-24;  // the unit roundoff

inline double sine(double x) {
  return std::sin(x);
}
inline double cosine(double x) {
  return std::cos(x);
}

// Numbers in [-2, 2] in no order; others for another phase.
inline std::vector<double> numbers(int count, double phase = 0) {
  std::vector<double> x;
  for (int i = 0; i < count; ++i) x.push_back(2 * std::sin(phase + 3.0 * i * i));
  return x;
}

// Numbers of the standard normal distribution; equal for equal seeds.
inline std::vector<double> normal(std::uint64_t seed, std::size_t size) {
  const RandomSequence numbers{.key = seed, .offset = 0};
  std::vector<double> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = numbers.normal<double>(i);
  return values;
}

}  // namespace fluidcore::gradcheck
