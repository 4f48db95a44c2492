#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fluidcore {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kDoubleNaN = std::numeric_limits<double>::quiet_NaN();

// Numbers in [-1, 1) that look random; equal for equal seeds.
template <class T>
std::vector<T> numbers(std::int64_t count, unsigned seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<T>(seed >> 16U) / T(32768) - T(1);
  }
  return values;
}

// `factor` times the sines of 1, 4, 7, ...
inline std::vector<double> sines(std::int64_t count, double factor = 1) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(factor * std::sin(static_cast<double>(3 * i + 1)));
  }
  return values;
}

}  // namespace fluidcore
