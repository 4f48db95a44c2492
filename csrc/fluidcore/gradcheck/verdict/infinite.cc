#include "fluidcore/gradcheck/verdict/infinite.h"

#include <cmath>

#include "fluidcore/base/error.h"
#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

// Of many, so many are spread over all.
std::vector<std::int64_t> evenly_spread(const std::vector<std::int64_t>& every) {
  constexpr std::size_t kLookedAt = 16;
  if (every.size() <= kLookedAt) return every;
  std::vector<std::int64_t> some(kLookedAt);
  for (std::size_t i = 0; i < kLookedAt; ++i) {
    some[i] = every[i * (every.size() - 1) / (kLookedAt - 1)];
  }
  return some;
}

}  // namespace

bool may_be_infinite(double claimed, double low, double high, DType dtype) {
  if (!std::isinf(claimed)) return false;
  // Below it by a rounding, a gradient may have overflowed on its way.
  const double most = largest(dtype) * (1 - unit_roundoff(dtype));
  return (claimed > 0 ? high : -low) >= most;
}

Infinite check_infinite(Function& f,
                        std::size_t input,
                        const std::vector<double>& claimed,
                        const Question& question,
                        double bars) {
  const std::int64_t size = floating_input(f, input).size();
  require(std::ssize(claimed) == size, "gradcheck: the gradient must have ", size,
          " elements as the input has, got ", claimed.size());
  Infinite found;
  std::vector<std::int64_t> infinite;
  std::vector<std::int64_t> unknown;
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    if (std::isnan(claimed[i])) unknown.push_back(static_cast<std::int64_t>(i));
    if (std::isinf(claimed[i])) infinite.push_back(static_cast<std::int64_t>(i));
  }
  if (unknown.empty() && infinite.empty()) return found;
  DifferentiateOptions how;
  how.elements =
      unknown.empty() ? evenly_spread(infinite) : std::vector<std::int64_t>{unknown.front()};
  const Derivatives derivatives = differentiate(f, input, question, how);
  found.evaluations = derivatives.evaluations;
  const DType dtype = f.inputs()[input].dtype();
  for (std::size_t j = 0; j < how.elements->size() && !found.wrong; ++j) {
    const std::int64_t element = (*how.elements)[j];
    const double value = claimed[static_cast<std::size_t>(element)];
    const double slack = bars * derivatives.error[j];  // endless where there is no derivative
    const double low = derivatives.low[j];
    const double high = derivatives.high[j];
    if (may_be_infinite(value, low - slack, high + slack, dtype)) continue;
    found.wrong = {element, value > 0 ? high : low, derivatives.error[j]};
  }
  if (found.wrong) return found;
  found.infinite.resize(claimed.size());
  for (const std::int64_t element : infinite) {
    found.infinite[static_cast<std::size_t>(element)] = 1;
  }
  return found;
}

}  // namespace fluidcore::gradcheck
