#include "fluidcore/gradcheck/verdict/branches.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/difference/hull.h"
#include "fluidcore/gradcheck/verdict/nearby.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kSameDistance = 0.5;  // of a smooth f, what is nearer is apart by an eighth

class NearX {
 public:
  NearX(Evidence& evidence, const LookAround& look_around)
      : evidence_(evidence), reference_(evidence.reference()), look_around_(look_around) {}

  void look(const Columns& columns) {
    const Surroundings far = look_around_(columns, Ring::kFar);
    const Surroundings near = look_around_(columns, Ring::kNear);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const bool is_seen = !far.smooth.empty() && !near.smooth.empty() &&
                           2 * (far.smooth[j] + near.smooth[j]) >= far.points + near.points;
      if (!is_seen) {
        evidence_.leave_open(columns[j], kKink);
      } else if (has_branches(columns[j], far.columns[j], near.columns[j]) &&
                 is_right_near_x(columns[j], near.columns[j])) {
        if (!adopt_hull(columns[j], near.columns[j])) evidence_.leave_open(columns[j], kKink);
      }
    }
  }

 private:
  // Whether f has branches at x that no one-sided derivative there is of: derivatives near by are
  // apart from both, and not by less the nearer they are.
  bool has_branches(std::size_t column,
                    const std::vector<Nearby>& far,
                    const std::vector<Nearby>& near) const {
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const auto apart = [&](const Nearby& nearby) {
        double most = 0;
        for (const double value : nearby.values) {
          most = std::max(most, std::min(std::abs(value - reference_.low[i]),
                                         std::abs(value - reference_.high[i])));
        }
        return most;
      };
      const double nearer = apart(near[row]);
      const bool is_seen = nearer > evidence_.limit(i, near[row].error) + evidence_.visible(i);
      if (is_seen && nearer > kSameDistance * apart(far[row])) return true;
    }
    return false;
  }

  // Whether the gradient under test is right at most points near by. Of one that is just an array
  // nothing more is known than whether it lies between the derivatives there.
  bool is_right_near_x(std::size_t column, const std::vector<Nearby>& by_row) const {
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const Nearby& nearby = by_row[row];
      if (nearby.claimed.empty()) {
        const Hull hull = nearby.hull();
        if (!evidence_.holds(i, {hull.low, hull.high, nearby.error})) return false;
        continue;
      }
      const double limit = evidence_.limit(i, nearby.error);
      std::size_t right = 0;
      for (std::size_t point = 0; point < nearby.values.size(); ++point) {
        if (std::abs(nearby.claimed[point] - nearby.values[point]) <= limit) ++right;
      }
      if (2 * right < nearby.values.size()) return false;
    }
    return true;
  }

  // Whether the claim lies between all derivatives, at x and near by. Not if it is just an array,
  // of which nobody knows whether it is right there.
  bool adopt_hull(std::size_t column, const std::vector<Nearby>& by_row) {
    std::vector<Evidence::Interval> found;
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const Hull hull = by_row[row].hull();
      found.push_back({std::min(reference_.low[i], hull.low),
                       std::max(reference_.high[i], hull.high),
                       std::max(reference_.error[i], by_row[row].error)});
      const double part = evidence_.resolution() * std::abs(evidence_.claimed(i));
      const double visible = std::max(evidence_.visible(i), part);
      const bool is_sharp = evidence_.limit(i, found[row].error) <= visible;
      if (by_row[row].claimed.empty() || !is_sharp || !evidence_.holds(i, found[row])) return false;
    }
    adopt(column, found);
    return true;
  }

  void adopt(std::size_t column, const std::vector<Evidence::Interval>& found) {
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const auto [low, high, error] = found[row];
      reference_.low[i] = low;
      reference_.high[i] = high;
      reference_.value[i] = low + (high - low) / 2;
      reference_.error[i] = error;
      reference_.scale[i] = std::max(std::abs(low), std::abs(high));
    }
    reference_.flags[column] = kKink | kSubgradient;
  }

  Evidence& evidence_;
  Derivatives& reference_;  // that of the evidence
  const LookAround& look_around_;
};

}  // namespace

void look_near(Evidence& evidence, const Columns& columns, const LookAround& look_around) {
  NearX(evidence, look_around).look(columns);
}

}  // namespace fluidcore::gradcheck
