#include "fluidcore/gradcheck/difference/question.h"

#include <cmath>
#include <cstddef>

#include "fluidcore/base/error.h"

namespace fluidcore::gradcheck {

void check_cotangent(const std::vector<double>& v, std::size_t index, std::int64_t m) {
  require(static_cast<std::int64_t>(v.size()) == m, "gradcheck: cotangent ", index,
          " must have a number for each of the ", m, " output elements, got ", v.size());
  for (const double number : v) {
    require(std::isfinite(number), "gradcheck: cotangent ", index, " must be finite, got ", number);
  }
}

void check(const Question& question, std::int64_t m) {
  for (std::size_t c = 0; c < question.cotangents.size(); ++c) {
    check_cotangent(question.cotangents[c], c, m);
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
