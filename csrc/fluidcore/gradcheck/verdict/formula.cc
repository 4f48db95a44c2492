#include "fluidcore/gradcheck/verdict/formula.h"

#include <cmath>

#include "fluidcore/base/error.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"

namespace fluidcore::gradcheck {

Formula Formula::of(Function& f,
                    Gradient* gradient,
                    const std::vector<std::vector<Tensor>>& cotangents,
                    const std::vector<Tensor>& outputs) {
  Formula made{f, gradient};
  for (const Tensor& y : outputs) {
    append(made.outputs, y);
    made.output_sizes.push_back(static_cast<std::size_t>(y.size()));
  }
  for (const std::vector<Tensor>& v : cotangents) {
    std::vector<double>& flat = made.weights.emplace_back();
    for (const Tensor& part : v) append(flat, part);
    require(flat.size() == made.outputs.size(), "Formula: a cotangent must have ",
            made.outputs.size(), " numbers, as the outputs, got ", flat.size());
  }
  return made;
}

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
