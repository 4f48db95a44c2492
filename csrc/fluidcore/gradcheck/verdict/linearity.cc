#include "fluidcore/gradcheck/verdict/linearity.h"

#include <cmath>
#include <cstdint>

#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kFactor = -0x1p-6;

}  // namespace

Tensor scaled_exactly(const Tensor& cotangent) {
  Tensor result = cotangent.clone();
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.set_float_element(i, kFactor * cotangent.get_float_element(i));
  }
  return result;
}

bool is_scaled_exactly(const Tensor& gradient, const Tensor& before) {
  const double tiny = smallest_normal(before.dtype());
  for (std::int64_t i = 0; i < before.size(); ++i) {
    const double expected = kFactor * before.get_float_element(i);
    const double found = gradient.get_float_element(i);
    const bool overflows = std::isinf(found) || !std::isfinite(expected);
    if (!overflows && !(std::abs(found - expected) <= tiny)) return false;
  }
  return true;
}

}  // namespace fluidcore::gradcheck
