#include "fluidcore/gradcheck/verdict/formula.h"

#include <cmath>

#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

bool Formula::is_late() const {
  Interruption* const interruption = f.interruption();
  if (interruption == nullptr || !interruption->is_over()) return false;
  try {
    interruption->check("gradcheck");
  } catch (const TimedOut&) {
    return true;
  }
  return false;
}

std::vector<double> Formula::heights(std::size_t input) const {
  const double size = root_mean_square(f.inputs()[input]);
  std::vector<double> heights;
  for (const std::vector<double>& v : weights) {
    double sum = 0;
    for (std::size_t j = 0; j < v.size(); ++j) sum += std::abs(v[j] * outputs[j]);
    heights.push_back(sum / size);
  }
  return heights;
}

}  // namespace fluidcore::gradcheck
