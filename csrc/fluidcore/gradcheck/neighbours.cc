#include "fluidcore/gradcheck/neighbours.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <set>
#include <utility>

#include "fluidcore/gradcheck/random_values.h"
#include "fluidcore/gradcheck/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kLeast = 1;  // units
constexpr double kMost = 3;
constexpr double kFarthest = 4096;  // times the element
constexpr int kHalvings = 30;
constexpr int kSplits = 20;
constexpr int kSigns = 8;
constexpr double kPart = 0.1;  // of a unit: what is nearer is x itself

double largest_of(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  return most;
}

}  // namespace

Neighbourhood::Neighbourhood(const OperatorGradient& formula, DType dtype, std::uint64_t seed)
    : f_(formula.forward()), dtype_(dtype), seed_(seed), start_(outputs()) {
  std::vector<Tensor> x;
  for (const Tensor& input : f_->inputs()) x.push_back(input.clone());
  double size = largest_of(start_);
  for (int q = 0; q < kSigns; ++q) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      Tensor moved = f_->inputs()[k];
      const RandomSequence numbers =
          random_sequence(seed, str_cat("input ", k), str_cat("signs ", q));
      for (std::int64_t i = 0; i < moved.size(); ++i) {
        const bool flips = numbers.uniform<double>(static_cast<std::uint64_t>(i)) < 0.5;
        moved.set_float_element(i, flips ? -x[k].get_float_element(i) : x[k].get_float_element(i));
      }
    }
    try {
      size = std::max(size, largest_of(outputs()));
    } catch (const std::exception&) {
      continue;  // outside of the domain of f
    }
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    Tensor moved = f_->inputs()[k];
    for (std::int64_t i = 0; i < moved.size(); ++i) {
      moved.set_float_element(i, x[k].get_float_element(i));
    }
  }
  unit_ = unit_roundoff(dtype) * size;
}

std::optional<Neighbour> Neighbourhood::beside(std::size_t k, std::int64_t element, double sign) {
  const double x = at(k, element);
  const double size = std::max(std::abs(x), root_mean_square(f_->inputs()[k]));
  const auto moved = [&](double step) { return rounded(x + sign * step); };
  double shorter = 0;
  double step = std::sqrt(unit_roundoff(dtype_)) * size;
  if (unit_ == 0) return std::nullopt;
  double found = change(k, element, moved(step));
  if (found > kMost) return std::nullopt;
  while (found < kLeast) {
    shorter = step;
    step *= 4;
    if (step > kFarthest * size) return std::nullopt;
    found = change(k, element, moved(step));
  }
  double longer = step;
  for (int i = 0; i < kHalvings; ++i) {
    if (kLeast <= found && found <= kMost) return Neighbour{k, element, moved(step)};
    step = (shorter + longer) / 2;
    found = change(k, element, moved(step));
    (found < kLeast ? shorter : longer) = step;
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
    if (kPart <= moved && moved <= kMost && seen.insert(value).second) {
      found.push_back({end.k, end.element, value});
    }
  }
  return found;
}

std::vector<double> Neighbourhood::outputs() {
  std::vector<double> values;
  for (const Tensor& y : f_->run()) {
    for (std::int64_t i = 0; i < y.size(); ++i) values.push_back(y.get_float_element(i));
  }
  return values;
}

double Neighbourhood::at(std::size_t k, std::int64_t element) const {
  return f_->inputs()[k].get_float_element(element);
}

double Neighbourhood::rounded(double value) const {
  return round_to(dtype_, value);
}

double Neighbourhood::change(std::size_t k, std::int64_t element, double value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Tensor input = f_->inputs()[k];
  const double before = at(k, element);
  std::vector<double> y;
  input.set_float_element(element, value);
  try {
    y = outputs();
  } catch (const std::exception&) {
    y.clear();
  }
  input.set_float_element(element, before);
  double most = y.empty() ? kInfinity : 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double apart = std::abs(y[i] - start_[i]);
    most = std::isfinite(apart) ? std::max(most, apart) : kInfinity;
  }
  return most / unit_;
}

}  // namespace fluidcore::gradcheck
