#include "fluidcore/gradcheck/verdict/repetition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fluidcore/base/error.h"
#include "fluidcore/gradcheck/verdict/linearity.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::size_t kRunsThatMeasure = 8;  // a deviation, once there is one
constexpr double kRandom = 1e-3;             // of the largest value

bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

Repetition::Repetition(std::span<const double> first, std::size_t at_least)
    : first_(first), wanted_(at_least) {
}

void Repetition::add(std::span<const double> run) {
  require(run.size() == first_.size(), "gradcheck: runs must have the same number of values, ",
          first_.size(), ", got ", run.size());
  if (repeats() && !std::equal(run.begin(), run.end(), first_.begin(), is_same)) {
    wanted_ = std::max(wanted_, kRunsThatMeasure);
    mean_.resize(first_.size());
    squares_.resize(first_.size());
  }
  ++runs_;
  // Welford, Technometrics 4 (1962). Differences from the first run are exact, or nearly so.
  const auto count = static_cast<double>(runs_);
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    const double moved = is_same(run[i], first_[i]) ? 0 : run[i] - first_[i];
    const double off = moved - mean_[i];
    mean_[i] += off / count;
    squares_[i] += off * (moved - mean_[i]);
  }
}

std::vector<double> Repetition::deviation() const {
  std::vector<double> deviation = squares_;
  for (double& one : deviation) {
    one = std::sqrt(one / static_cast<double>(runs_ - 1));
    if (std::isnan(one)) one = std::numeric_limits<double>::infinity();
  }
  return deviation;
}

std::vector<double> Repetition::margin() const {
  constexpr double kDeviations = 4;
  std::vector<double> margin = deviation();
  for (double& one : margin) one *= kDeviations;
  return margin;
}

double Repetition::worst() const {
  const std::vector<double> all = deviation();
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

double Repetition::size() const {
  double largest = 0;
  for (const double value : first_) largest = std::max(largest, std::abs(value));
  return largest;
}

bool Repetition::is_random() const {
  return !(worst() <= kRandom * size());
}

bool Repetition::is_rounding(DType dtype) const {
  return worst() <= rounding_of_sums(dtype) * size();
}

}  // namespace fluidcore::gradcheck
