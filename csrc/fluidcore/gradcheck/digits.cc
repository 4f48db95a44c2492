#include "fluidcore/gradcheck/digits.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/judge.h"
#include "fluidcore/gradcheck/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kFewest = 4;  // elements that could not all lose their digits by chance
constexpr double kUnits = 16;

std::vector<DType> narrower(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return {DType::kFloat16, DType::kBFloat16, DType::kFloat32};
    case DType::kFloat32: return {DType::kFloat16, DType::kBFloat16};
    default: return {};
  }
}

}  // namespace

std::optional<DType> narrowed_to(const std::vector<double>& claimed,
                                 const Derivatives& reference,
                                 DType dtype,
                                 double bars) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(claimed.begin(), claimed.end(), is_finite)) return std::nullopt;
  const std::vector<double> scale = padded_scale(reference);
  for (const DType narrow : narrower(dtype)) {
    int telling = 0;
    bool is_narrow = true;
    for (std::size_t i = 0; i < claimed.size() && is_narrow; ++i) {
      is_narrow = round_to(narrow, claimed[i]) == claimed[i];
      const auto element = i % static_cast<std::size_t>(reference.elements);
      if (claimed[i] == 0 || reference.flags[element] != 0) continue;
      const double value = reference.value[i];
      const double allowed = bars * reference.error[i] + kUnits * unit_roundoff(dtype) * scale[i] +
                             smallest_normal(dtype);
      telling += std::abs(round_to(narrow, value) - value) > allowed ? 1 : 0;
    }
    if (is_narrow && telling >= kFewest) return narrow;
  }
  return std::nullopt;
}

}  // namespace fluidcore::gradcheck
