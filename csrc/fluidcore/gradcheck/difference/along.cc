#include "fluidcore/gradcheck/difference/along.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "fluidcore/base/threads.h"
#include "fluidcore/gradcheck/difference/climb.h"
#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/difference/projection.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/function/workers.h"

namespace fluidcore::gradcheck {

DType check_directions(const Function& function, const Directions& directions) {
  const std::size_t count = function.inputs().size();
  require(directions.size() == count, "gradcheck: there must be a direction for each of the ",
          count, " inputs, got ", directions.size(), "; None for an input that stays");
  DType coarsest = DType::kFloat64;
  for (std::size_t k = 0; k < count; ++k) {
    const auto& direction = directions[k];
    if (!direction) continue;
    const Tensor& input = floating_input(function, k);
    require(static_cast<std::int64_t>(direction->size()) == input.size(), "gradcheck: direction ",
            k, " must have the ", input.size(), " elements of its input, got ", direction->size());
    for (const double d : *direction) {
      require(std::isfinite(d), "gradcheck: direction ", k, " must be finite, got ", d);
    }
    coarsest = coarser(coarsest, input.dtype());
  }
  return coarsest;
}

namespace {

// The one input that has a direction, if it is one.
std::optional<std::size_t> only_moved(const Directions& directions) {
  const auto is_there = [](const auto& direction) { return direction.has_value(); };
  if (std::count_if(directions.begin(), directions.end(), is_there) != 1) return std::nullopt;
  return std::find_if(directions.begin(), directions.end(), is_there) - directions.begin();
}

Derivatives along(Function& function,
                  const Directions& directions,
                  const Question& question,
                  bool traces,
                  const Approach& approach) {
  const DType coarsest = check_directions(function, directions);
  require(!traces || !question.cotangents.empty(),
          "gradcheck: a trace must have a cotangent to project on, got none");
  Direction direction(function.inputs(), directions);
  Climb climb(function, coarsest, 1, question);
  Derivatives derivatives(static_cast<std::int64_t>(question.cotangents.size()), 1);
  derivatives.evaluations = 1;
  if (direction.is_zero()) return derivatives;
  std::vector<double> absorbed(derivatives.value.size());
  climb.note_absorbed(&absorbed);
  if (traces) climb.trace(&derivatives.levels);
  climb.differentiate(direction, {0}, derivatives, approach);
  if (climb.rule().absorbs) flag_absorbed(absorbed, climb.rule().resolution, derivatives);
  derivatives.evaluations += climb.evaluations();
  derivatives.failure = climb.failure();
  return derivatives;
}

}  // namespace

Derivatives differentiate_along(Function& function,
                                const Directions& directions,
                                const Question& question,
                                bool traces,
                                std::int64_t workers,
                                const Approach& approach) {
  const auto with = [&](Function& f) { return along(f, directions, question, traces, approach); };
  return with_plain_exceptions([&] {
    check_workers(workers);
    if (workers == 1 || !is_large(function)) {
      const ThreadCountScope threads(static_cast<int>(workers));
      return with(function);
    }
    Derivatives found;
    const Workers one(function, only_moved(directions), workers, 1);
    one.run(1, 1, [&](std::size_t, std::int64_t, std::int64_t) { found = with(one.function(0)); });
    return found;
  });
}

}  // namespace fluidcore::gradcheck
