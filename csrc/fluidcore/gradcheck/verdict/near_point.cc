#include "fluidcore/gradcheck/verdict/near_point.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/difference/rule.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

Move move_to(const NearPoint& near,
             const Function& function,
             std::size_t input,
             std::uint64_t seed) {
  const RandomSequence random =
      random_sequence(seed, str_cat("input ", input), str_cat("near by ", near.number));
  const Tensor& here = function.inputs()[input];
  const double rms = root_mean_square(here);
  const auto size = static_cast<std::uint64_t>(here.size());
  return [=](std::size_t /*k*/, std::int64_t i, double x) {
    const auto place = static_cast<std::uint64_t>(i);
    const double unit = x == 0 ? rms : std::abs(x);
    const double sign = random.uniform<double>(size + place) < near.up ? 1 : -1;
    const double by = sign * (1 + random.uniform<double>(place)) / 2;
    return x + by * near.part * unit;
  };
}

double nearness(DType dtype) {
  const LadderRule rule = rule_of(dtype);
  return std::ldexp(1.0, -rule.first - rule.most / 2);
}

bool is_in_domain(Function& function) {
  try {
    for (const Tensor& output : function.run()) {
      for (std::int64_t j = 0; j < output.size(); ++j) {
        if (!std::isfinite(output.get_float_element(j))) return false;
      }
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace fluidcore::gradcheck
