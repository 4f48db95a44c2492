#include "fluidcore/gradcheck/difference/divided_differences.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "fluidcore/gradcheck/difference/ladder.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kLevel = 4;      // up to this factor orders tell the same
constexpr double kMost = 0x1p-4;  // of the values: what swings by more is f itself
constexpr double kUneven = 0.25;  // of the distance of two points: how far each is off
// Of an output: less is the rounding of the differences. On the short line of a float64 f they lose
// less than the last digit of an output.
constexpr double kOwn = 0x1p-44;
constexpr double kOwnOfDouble = 0x1p-55;

}  // namespace

DividedDifferences::Places DividedDifferences::random_places(std::mt19937_64& random, int bits) {
  const double grid = std::ldexp(1.0, -bits);
  Places places{};
  for (int point = 0; point < kPoints; ++point) {
    const double part = 2 * std::ldexp(static_cast<double>(random() >> 11), -53) - 1;
    const double off = grid * std::nearbyint(kUneven * part / grid);
    places[static_cast<std::size_t>(point)] = point + 1 + off;  // to one side: x may be a kink
  }
  return places;
}

DividedDifferences::Lengths DividedDifferences::lengths(const Places& places, int end) {
  Lengths lengths{};
  for (int order = kLowest; order <= std::min(kOrder, end); ++order) {
    double squares = 0;
    for (int i = end - order; i <= end; ++i) {
      double product = 1;
      for (int l = end - order; l <= end; ++l) {
        if (l != i)
          product *= places[static_cast<std::size_t>(i)] - places[static_cast<std::size_t>(l)];
      }
      squares += 1 / (product * product);
    }
    lengths[static_cast<std::size_t>(order)] = std::sqrt(squares);
  }
  return lengths;
}

void DividedDifferences::add(double value,
                             int point,
                             const Places& places,
                             const Lengths& lengths) {
  largest_ = std::max(largest_, std::abs(value));
  if (point > 0 && value != last_[0]) ++moves_;
  for (int order = 0;; ++order) {
    const auto at = static_cast<std::size_t>(order);
    const double before = std::exchange(last_[at], value);
    if (order >= kLowest) {
      OfOrder& one = orders_[at - kLowest];
      one.squares += value * value / (lengths[at] * lengths[at]);
      one.least = std::min(one.least, value);
      one.greatest = std::max(one.greatest, value);
    }
    if (order == kOrder || order == point) return;
    value = (value - before) / (places[static_cast<std::size_t>(point)] -
                                places[static_cast<std::size_t>(point - order - 1)]);
  }
}

double DividedDifferences::OfOrder::noise(int order) const {
  return std::sqrt(squares / (kPoints - order));
}

double DividedDifferences::noise(double unit) const {
  const double found = orders_.back().noise(kOrder);
  const double own = unit > 0x1p-50 ? kOwn : kOwnOfDouble;
  return std::isfinite(found) && found <= own * largest_ ? 0 : found;
}

bool DividedDifferences::is_level() const {
  double least = std::numeric_limits<double>::infinity();
  double greatest = 0;
  int order = kLowest;
  for (const OfOrder& one : orders_) {
    const double noise = one.noise(order++);
    const bool changes_sign = one.least < 0 && one.greatest > 0;
    if (!std::isfinite(noise) || !changes_sign) return false;
    least = std::min(least, noise);
    greatest = std::max(greatest, noise);
  }
  return greatest <= kLevel * least && greatest <= kMost * largest_;
}

bool DividedDifferences::is_doubtful(double unit) const {
  const double found = noise(unit);
  if (!std::isfinite(found) || found > std::sqrt(unit) * largest_) return true;
  return !is_rounding(found, largest_, unit) && !is_level();
}

bool DividedDifferences::is_telling() const {
  return std::isfinite(orders_.back().squares) && !is_still();
}

bool is_rounding(double noise, double size, double unit) {
  return kDeviations * noise <= Ladder::rounding_error({.unit = unit}, size, 0, 0);
}

}  // namespace fluidcore::gradcheck
