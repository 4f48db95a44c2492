#include "fluidcore/gradcheck/difference/derivatives.h"

#include <cmath>

namespace fluidcore::gradcheck {

void copy_column(const Derivatives& from, std::size_t i, Derivatives& to, std::size_t j) {
  const auto n = static_cast<std::size_t>(from.elements);
  const auto m = static_cast<std::size_t>(to.elements);
  for (std::size_t row = 0; row < static_cast<std::size_t>(from.cotangents); ++row) {
    for (const auto array : {&Derivatives::value, &Derivatives::error, &Derivatives::low,
                             &Derivatives::high, &Derivatives::scale}) {
      (to.*array)[row * m + j] = (from.*array)[row * n + i];
    }
  }
  to.flags[j] = from.flags[i];
}

Derivatives picked(const Derivatives& from, const std::vector<std::size_t>& columns) {
  Derivatives to(from.cotangents, std::ssize(columns));
  for (std::size_t j = 0; j < columns.size(); ++j) copy_column(from, columns[j], to, j);
  to.evaluations = from.evaluations;
  return to;
}

bool is_smooth(const Derivatives& found, std::size_t j) {
  if ((found.flags[j] & (kKink | kJump | kDomain)) != 0) return false;
  for (std::size_t i = j; i < found.error.size(); i += static_cast<std::size_t>(found.elements)) {
    if (!std::isfinite(found.error[i])) return false;
  }
  return true;
}

}  // namespace fluidcore::gradcheck
