#include "fluidcore/gradcheck/difference/trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fluidcore::gradcheck {

TracedLevel trace_level(const Ladder& ladder,
                        const LadderRule& rule,
                        const MovedOutputs& moved,
                        const Outputs& outputs,
                        const std::vector<double>& v,
                        const Ladder::Steps& steps,
                        double argument) {
  const double width = steps.plus + steps.minus;
  TracedLevel level;
  for (std::size_t j = 0; j < v.size(); ++j) level.phi_0 += v[j] * outputs.base()[j];
  double up = 0;
  double down = 0;
  double squares = 0;
  for (std::int64_t s = moved.begin(0); s < moved.end(0); ++s) {
    const double plus = ladder.field(Ladder::kPlus)[s];
    const double minus = ladder.field(Ladder::kMinus)[s];
    const double middle = ladder.field(Ladder::kMiddle)[s];
    const double weight = v[static_cast<std::size_t>(moved.output(s))];
    const double derivative = (plus - minus) / width;
    const double size = std::max({std::abs(plus), std::abs(minus), std::abs(middle)});
    const double wrong = Ladder::rounding_error(rule, size, std::abs(argument * derivative),
                                                ladder.field(Ladder::kFloor)[s]);
    const double noise = weight * 2 * wrong / width;
    up += weight * (plus - middle);
    down += weight * (middle - minus);
    level.difference += weight * derivative;
    squares += noise * noise;
  }
  level.step = width / 2;
  level.noise = std::sqrt(squares);
  level.phi_plus = level.phi_0 + up;
  level.phi_minus = level.phi_0 - down;
  return level;
}

}  // namespace fluidcore::gradcheck
