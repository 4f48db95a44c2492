#include "fluidcore/gradcheck/verdict/far_away.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"
#include "fluidcore/gradcheck/verdict/elsewhere.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kNearest = 8;      // times x: far away
constexpr double kFarther = 8;      // times that, each time again
constexpr double kFarthest = 0.75;  // of the digits of the dtype: rounding of x leaves f a quarter
constexpr double kBeyond = 512;     // times f, where a slope of 1 must be seen
constexpr int kDistances = 40;
constexpr int kFarPoints = 12;
constexpr std::size_t kFewestPoints = 8;
constexpr double kAbove = 4;       // roundings
constexpr double kOrdered = 0.25;  // noise has 2; with a probability of 1e-6 so little at 12 points
constexpr std::size_t kLargestSteps = 3;

using Points = std::vector<std::vector<double>>;  // the outputs at each of them

double range(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

std::vector<double> output(const Points& points, std::size_t j) {
  std::vector<double> values;
  for (const std::vector<double>& y : points) values.push_back(y[j]);
  return values;
}

std::vector<double> projected(const Points& points, const std::vector<double>& v) {
  std::vector<double> values;
  for (const std::vector<double>& y : points) {
    double sum = 0;
    for (std::size_t j = 0; j < y.size(); ++j) sum += v[j] * y[j];
    values.push_back(sum);
  }
  return values;
}

bool has_moved(const Points& points) {
  return std::any_of(points.begin(), points.end(), [&](const auto& y) { return y != points[0]; });
}

// Whether the weighted outputs move by more than rounding, and much less from one point to the
// next. All together: one alone may by chance seem ordered.
bool is_ordered(const Points& points, const std::vector<double>& v, double rounding) {
  double moves = 0;
  double roundings = 0;
  double steps = 0;
  double deviations = 0;
  for (std::size_t j = 0; j < v.size(); ++j) {
    std::vector<double> values = output(points, j);
    double most = 0;
    double sum = 0;
    for (double& value : values) {
      value *= v[j];
      most = std::max(most, std::abs(value));
      sum += value;
    }
    const double mean = sum / static_cast<double>(values.size());
    moves += std::pow(range(values), 2);
    roundings += std::pow(kAbove * rounding * most, 2);
    for (std::size_t p = 0; p < values.size(); ++p) {
      deviations += std::pow(values[p] - mean, 2);
      if (p > 0) steps += std::pow(values[p] - values[p - 1], 2);
    }
  }
  return moves > roundings && steps < kOrdered * deviations;
}

}  // namespace

bool FarAway::is_hidden_by(const std::vector<double>& limit,
                           const std::vector<std::int64_t>& elements) const {
  if (!slopes) return false;
  for (std::size_t row = 0; row < slopes->size(); ++row) {
    double hidden = 0;
    for (std::size_t j = 0; j < elements.size(); ++j) {
      hidden += limit[row * elements.size() + j] *
                std::abs(direction[static_cast<std::size_t>(elements[j])]);
    }
    if (std::abs((*slopes)[row]) <= hidden) return true;
  }
  return false;
}

FarAway far_away(Formula& formula, std::size_t input) {
  const Tensor& x = formula.f.inputs()[input];
  const double size = root_mean_square(x);
  const double unit = unit_roundoff(formula.dtype());
  FarAway found;
  append(found.direction,
         gaussian({x.shape(), DType::kFloat64},
                  random_sequence(formula.seed, str_cat("input ", input), "far away")));
  found.steepness.assign(formula.weights.size(), std::numeric_limits<double>::infinity());
  double largest = 0;
  for (const double y : formula.outputs) largest = std::max(largest, std::abs(y));
  const double end_of_digits = size * std::pow(unit, -kFarthest);
  double farthest = std::max(end_of_digits, kBeyond * largest);
  bool moved = false;
  for (int level = 0; level < kDistances; ++level) {
    const double distance = kNearest * size * std::pow(kFarther, level);
    if (distance > farthest) break;
    Points points;
    for (int p = 0; p < kFarPoints; ++p) {
      const double step = distance / kFarPoints * p;
      auto y = outputs_elsewhere(
          formula.f,
          [&](std::size_t k, std::int64_t i, double value) {
            return k == input ? value + step * found.direction[static_cast<std::size_t>(i)] : value;
          },
          formula.outputs.size());
      ++formula.evaluations;
      const auto is_number = [](double number) { return std::isfinite(number); };
      if (y && std::all_of(y->begin(), y->end(), is_number)) points.push_back(*std::move(y));
    }
    if (points.size() < kFewestPoints) continue;
    std::vector<double> slopes;
    slopes.reserve(formula.weights.size());
    for (const std::vector<double>& v : formula.weights) {
      slopes.push_back(range(projected(points, v)) / distance);
    }
    if (level == 0) found.steepness = slopes;
    if (!moved && has_moved(points)) {
      moved = true;
      farthest = std::max(end_of_digits, kFarther * kFarther * distance);
    }
    if (!moved) found.still = distance / size;
    for (const std::vector<double>& v : formula.weights) {
      if (!is_ordered(points, v, 2 * unit)) continue;
      found.slopes = slopes;
      return found;
    }
  }
  return found;
}

std::vector<double> largest_slopes(Formula& formula,
                                   std::size_t input,
                                   const std::vector<double>& direction) {
  const double size = root_mean_square(direction.data(), std::ssize(direction));
  std::vector<double> slopes;
  for (const std::vector<double>& v : formula.weights) {
    Directions directions(formula.f.inputs().size());
    directions[input] = direction;
    const Derivatives found = differentiate_along(formula.f, directions, {{v}, formula.noise.near},
                                                  true, formula.workers);
    formula.evaluations += found.evaluations;
    double most = found.levels.empty() ? std::numeric_limits<double>::infinity() : 0;
    for (std::size_t i = 0; i < std::min(kLargestSteps, found.levels.size()); ++i) {
      const TracedLevel& level = found.levels[i];
      const double move =
          std::max(std::abs(level.phi_plus - level.phi_0), std::abs(level.phi_minus - level.phi_0));
      most = std::max(most, move / level.step);
    }
    slopes.push_back(most / size);
  }
  return slopes;
}

}  // namespace fluidcore::gradcheck
