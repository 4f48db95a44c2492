#include "fluidcore/gradcheck/verdict/linearity.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kRuns = 8;  // deviations that two runs may be apart

}  // namespace

double rounding_of_sums(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 1e-9;
    case DType::kFloat16: return 0.05;
    case DType::kBFloat16: return 0.3;
    default: return 1e-4;
  }
}

Tensor scaled_exactly(const Tensor& cotangent) {
  Tensor result = cotangent.clone();
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.set_float_element(i, kExactFactor * cotangent.get_float_element(i));
  }
  return result;
}

std::optional<Deviation> deviation(const LinearRelation& relation, const Slack& slack) {
  Deviation found;
  double worst = 0;
  double largest = 0;
  for (std::int64_t i = 0; i < relation.size; ++i) {
    const double other = relation.second == nullptr ? 0 : relation.second[i];
    const double expected = relation.factor * relation.first[i] + other;
    if (!std::isfinite(expected)) continue;
    largest = std::max(largest, std::abs(expected));
    const double value = relation.gradient[i];
    if (std::isnan(value)) return Deviation{i, value, expected, true};
    const double apart = std::abs(value - expected);
    if (!(apart > worst) || std::isinf(value)) continue;
    worst = apart;
    found = {i, value, expected, false};
  }
  if (worst == 0) return std::nullopt;
  const double rounding = rounding_of_sums(relation.dtype);
  const double limit = rounding * (largest + slack.weight / slack.size_of_point) +
                       kRuns * slack.spread + smallest_normal(relation.dtype);
  found.is_wrong = worst > (relation.is_zero() ? 0 : limit);
  return found;
}

}  // namespace fluidcore::gradcheck
