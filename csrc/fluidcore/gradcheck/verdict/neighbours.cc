#include "fluidcore/gradcheck/verdict/neighbours.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/moved_inputs.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kLeastChange = 1;  // units
constexpr double kMostChange = 3;
constexpr double kFarthestStep = 4096;  // times the element
constexpr int kHalvings = 30;
constexpr int kSplits = 20;
constexpr int kOtherSigns = 8;
constexpr double kNoChange = 0.1;  // of a unit: what is nearer is x itself

double largest_of(const double* values, std::int64_t size) {
  double most = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (std::isfinite(values[i])) most = std::max(most, std::abs(values[i]));
  }
  return most;
}

}  // namespace

Neighbourhood::Neighbourhood(Function& f, DType dtype, std::uint64_t seed)
    : f_(f), dtype_(dtype), seed_(seed), outputs_(f) {
  double size = largest_of(outputs_.base(), outputs_.size());
  for (int q = 0; q < kOtherSigns; ++q) {
    const MovedInputs moved(f_, at_random(f_, seed, str_cat("signs ", q), with_random_sign));
    if (!run()) continue;
    for (const Outputs::Part& part : outputs_.parts()) {
      size = std::max(size, largest_of(part.values, part.size));
    }
  }
  unit_ = unit_roundoff(dtype) * size;
}

std::optional<Neighbour> Neighbourhood::beside(std::size_t k, std::int64_t element, double sign) {
  const double x = at(k, element);
  const double size = std::max(std::abs(x), root_mean_square(f_.inputs()[k]));
  const auto moved = [&](double step) { return rounded(x + sign * step); };
  double shorter = 0;
  double step = std::sqrt(unit_roundoff(dtype_)) * size;
  if (unit_ == 0) return std::nullopt;
  double found = change(k, element, moved(step));
  if (found > kMostChange) return std::nullopt;
  while (found < kLeastChange) {
    shorter = step;
    step *= 4;
    if (step > kFarthestStep * size) return std::nullopt;
    found = change(k, element, moved(step));
  }
  double longer = step;
  for (int i = 0; i < kHalvings; ++i) {
    if (kLeastChange <= found && found <= kMostChange) return Neighbour{k, element, moved(step)};
    step = (shorter + longer) / 2;
    found = change(k, element, moved(step));
    (found < kLeastChange ? shorter : longer) = step;
  }
  return std::nullopt;
}

std::vector<Neighbour> Neighbourhood::between(const Neighbour& end) {
  const RandomSequence numbers =
      random_sequence(seed_, str_cat("input ", end.k), str_cat("way ", end.element));
  std::vector<std::pair<double, double>> known = {
      // element, change
      {at(end.k, end.element), 0},
      {end.value, change(end.k, end.element, end.value)}};
  for (std::uint64_t split = 0; split < kSplits; ++split) {
    std::size_t widest = 1;
    const auto width = [&](std::size_t j) {
      return std::abs(known[j].second - known[j - 1].second);
    };
    for (std::size_t j = 2; j < known.size(); ++j) widest = width(j) > width(widest) ? j : widest;
    const double part = 0.3 + 0.4 * numbers.uniform<double>(split);
    const double from = known[widest - 1].first;
    const double value = rounded(from + part * (known[widest].first - from));
    known.insert(known.begin() + static_cast<std::ptrdiff_t>(widest),
                 {value, change(end.k, end.element, value)});
  }
  std::vector<Neighbour> found;
  std::set<double> seen;
  for (const auto& [value, moved] : known) {
    if (kNoChange <= moved && moved <= kMostChange && seen.insert(value).second) {
      found.push_back({end.k, end.element, value});
    }
  }
  return found;
}

double Neighbourhood::at(std::size_t k, std::int64_t element) const {
  return f_.inputs()[k].get_float_element(element);
}

double Neighbourhood::rounded(double value) const {
  return round_to(dtype_, value);
}

bool Neighbourhood::run() {
  ++evaluations_;
  try {
    outputs_.run();
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

double Neighbourhood::change(std::size_t k, std::int64_t element, double value) {
  const MovedElements moved(f_, k, {element}, {value});
  if (!run()) return kInfinity;
  double most = 0;
  for (const Outputs::Part& part : outputs_.parts()) {
    for (std::int64_t i = 0; i < part.size; ++i) {
      const double apart = std::abs(part.values[i] - outputs_.base()[part.offset + i]);
      if (!std::isfinite(apart)) return kInfinity;
      most = std::max(most, apart);
    }
  }
  return most / unit_;
}

}  // namespace fluidcore::gradcheck
