#include "fluidcore/gradcheck/verdict/linearity.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/sums.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kRuns = 8;             // deviations that two runs may be apart
constexpr double kSpreadsOfCopies = 4;  // that their mean is off for certain

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
    const double expected = relation.expected_at(i);
    if (!std::isfinite(expected)) continue;
    largest = std::max(largest, std::abs(expected));
    const double value = relation.gradient[i];
    if (std::isnan(value)) return Deviation{i, value, expected, 0, true};
    const double apart = std::abs(value - expected);
    if (!(apart > worst) || std::isinf(value)) continue;
    worst = apart;
    found = {i, value, expected};
  }
  if (worst == 0) return std::nullopt;
  const double rounding = rounding_of_sums(relation.dtype);
  if (!relation.is_zero()) {
    found.limit = rounding * (largest + slack.weight / slack.size_of_point) +
                  slack.tolerance * largest + kRuns * slack.spread +
                  smallest_normal(relation.dtype);
  }
  found.is_wrong = worst > found.limit;
  found.may_be_rounding = found.is_wrong && !relation.is_zero();
  return found;
}

double copy_dither(DType dtype, const NoiseLevel& noise, const std::vector<double>& outputs) {
  const std::vector<double>& rough = noise.widest();
  const double own = rounding_dither(dtype);
  if (rough.empty()) return own;
  const double squares = sum_of_squares(rough.data(), std::ssize(rough));
  const double size = sum_of_squares(outputs.data(), std::ssize(outputs));
  return std::max(own, std::min(std::pow(squares / size, 0.25), 1.0));
}

bool is_fault(std::span<const double> off, double limit) {
  const auto count = static_cast<double>(off.size());
  double mean = 0;
  for (const double one : off) mean += one / count;
  double squares = 0;
  for (const double one : off) squares += (one - mean) * (one - mean);
  return std::abs(mean) > kSpreadsOfCopies * std::sqrt(squares / (count - 1)) + limit;
}

}  // namespace fluidcore::gradcheck
