#include "fluidcore/gradcheck/verdict/digits.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::size_t kFewestElements = 4;  // that could not all lose their digits by chance
constexpr double kNarrowUnits = 16;

// Those with the fewest digits first.
std::vector<DType> narrower(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return {DType::kBFloat16, DType::kFloat16, DType::kFloat32};
    case DType::kFloat32: return {DType::kBFloat16, DType::kFloat16};
    default: return {};
  }
}

}  // namespace

std::vector<DType> narrower_dtypes(const std::vector<double>& claimed, DType dtype) {
  std::vector<DType> found;
  for (const DType narrow : narrower(dtype)) {
    const bool holds = std::all_of(claimed.begin(), claimed.end(), [&](double value) {
      return std::isfinite(value) && round_to(narrow, value) == value;
    });
    if (holds) found.push_back(narrow);
  }
  return found;
}

std::optional<DType> narrowed_to(const std::vector<double>& claimed,
                                 const Derivatives& reference,
                                 DType dtype,
                                 double bars,
                                 const std::function<std::vector<double>()>& uncertain) {
  for (const DType narrow : narrower_dtypes(claimed, dtype)) {
    const std::vector<double> scale = padded_scale(reference);
    const auto missing = [&](std::size_t i) {
      return std::abs(round_to(narrow, reference.value[i]) - reference.value[i]);
    };
    std::vector<std::size_t> telling;
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      const auto element = i % static_cast<std::size_t>(reference.elements);
      if (claimed[i] == 0 || reference.flags[element] != 0) continue;
      const double allowed = bars * reference.error[i] +
                             kNarrowUnits * unit_roundoff(dtype) * scale[i] +
                             smallest_normal(dtype);
      if (missing(i) > allowed) telling.push_back(i);
    }
    if (telling.size() >= kFewestElements && uncertain) {
      const std::vector<double> unknown = uncertain();
      std::erase_if(telling, [&](std::size_t i) { return !(missing(i) > unknown[i]); });
    }
    if (telling.size() >= kFewestElements) return narrow;
  }
  return std::nullopt;
}

}  // namespace fluidcore::gradcheck
