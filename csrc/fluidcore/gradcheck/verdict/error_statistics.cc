#include "fluidcore/gradcheck/verdict/error_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace fluidcore::gradcheck {

namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

ErrorSummary summary(std::vector<double>& errors) {
  ErrorSummary found;
  if (errors.empty()) return found;
  found.max = *std::max_element(errors.begin(), errors.end());
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
  found.mean = sum / static_cast<double>(errors.size());
  found.median = median(errors);
  return found;
}

}  // namespace

ErrorStatistics error_statistics(const double* analytical,
                                 const double* numerical,
                                 std::int64_t size,
                                 double smallest) {
  const auto absolute = [&](std::int64_t i) {
    const double apart = std::abs(analytical[i] - numerical[i]);
    return std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity();
  };
  ErrorStatistics found;
  std::vector<double> errors(static_cast<std::size_t>(size));  // one array for both
  for (std::int64_t i = 0; i < size; ++i) {
    const double larger = std::max(std::abs(analytical[i]), std::abs(numerical[i]));
    const double apart = absolute(i);
    errors[static_cast<std::size_t>(i)] =
        std::isfinite(apart) ? apart / std::max(larger, smallest) : apart;
  }
  found.relative = summary(errors);
  for (std::int64_t i = 0; i < size; ++i) errors[static_cast<std::size_t>(i)] = absolute(i);
  found.absolute = summary(errors);
  return found;
}

}  // namespace fluidcore::gradcheck
