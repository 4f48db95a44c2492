#include "fluidcore/gradcheck/difference/question.h"

#include <cmath>
#include <cstddef>

#include "fluidcore/base/error.h"

namespace fluidcore::gradcheck {

void check(const Question& question, std::int64_t m) {
  for (std::size_t c = 0; c < question.cotangents.size(); ++c) {
    const std::vector<double>& v = question.cotangents[c];
    require(static_cast<std::int64_t>(v.size()) == m, "gradcheck: cotangent ", c,
            " must have a number for each of the ", m, " output elements, got ", v.size());
    for (const double number : v) {
      require(std::isfinite(number), "gradcheck: cotangent ", c, " must be finite, got ", number);
    }
  }
  const std::vector<double>& noise = question.noise;
  require(noise.empty() || static_cast<std::int64_t>(noise.size()) == m,
          "gradcheck: noise must have a number for each of the ", m, " output elements, got ",
          noise.size());
  for (const double number : noise) {
    require(std::isfinite(number) && number >= 0,
            "gradcheck: noise must be finite and at least 0, got ", number);
  }
}

}  // namespace fluidcore::gradcheck
