#include "fluidcore/gradcheck/verdict/branches.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/difference/hull.h"
#include "fluidcore/gradcheck/verdict/nearby.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kCurvature = 0x1p-8;  // of all derivatives near by, in one branch
constexpr double kSameDistance = 0.5;  // of a smooth f, what is nearer is apart by an eighth

class NearX {
 public:
  NearX(Evidence& evidence, const LookAround& look_around)
      : evidence_(evidence), reference_(evidence.reference()), look_around_(look_around) {}

  // Widens [low, high] of the columns by the derivatives at points near by.
  void look(const Columns& columns) {
    const Surroundings far = look_around_(columns, Ring::kFar);
    const Surroundings near = look_around_(columns, Ring::kNear);
    Columns branching;
    Columns places;  // of these in `columns`
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const bool is_seen = !far.smooth.empty() && !near.smooth.empty() &&
                           2 * (far.smooth[j] + near.smooth[j]) >= far.points + near.points;
      if (!is_seen) {
        evidence_.leave_open(columns[j], kKink);
      } else if (evidence_.is_open(columns[j])) {
        adopt_branches(columns[j], far.columns[j], near.columns[j]);
      } else {
        const bool has_more = has_branches(columns[j], far.columns[j], near.columns[j]);
        if (has_more && holds_with(columns[j], near.columns[j], Branches::kAll)) {
          branching.push_back(columns[j]);
          places.push_back(j);
          continue;
        }
        if (has_more) widen(columns[j], near.columns[j]);
        const bool is_kink = (reference_.flags[columns[j]] & kKink) != 0;
        if (is_kink && may_be_another(columns[j], near.columns[j])) {
          evidence_.leave_open(columns[j], kKink);
        }
      }
    }
    if (branching.empty()) return;
    // What holds the claim must be met again, and be there nearer to x, too: else it is one branch
    // of many, or rounding, or what a smooth f does further away.
    const Surroundings nearest = look_around_(branching, Ring::kNearest);
    for (std::size_t j = 0; j < branching.size(); ++j) {
      const bool is_held = !nearest.columns.empty() &&
                           holds_with(branching[j], near.columns[places[j]], Branches::kMetTwice) &&
                           holds_with(branching[j], nearest.columns[j], Branches::kMetTwice);
      if (is_held) {
        widen(branching[j], nearest.columns[j]);
      } else {
        evidence_.leave_open(branching[j], kKink);
      }
    }
  }

 private:
  enum class Branches { kAll, kMetTwice };

  // What is between [low, high] and derivatives near by.
  Evidence::Interval with_branches(std::size_t i, const Nearby& nearby, Branches which) const {
    const Hull hull = which == Branches::kAll ? nearby.hull() : hull_of(met_again(i, nearby));
    return {std::min(reference_.low[i], hull.low), std::max(reference_.high[i], hull.high),
            std::max(reference_.error[i], nearby.error)};
  }

  std::vector<double> met_again(std::size_t i, const Nearby& nearby) const {
    return nearby.met_again(evidence_.limit(i, nearby.error) + evidence_.visible(i));
  }

  // Whether more than two branches meet, so that there may be others, and the gradient under test
  // is right at most points: then it may be that of a branch which none of them met.
  bool may_be_another(std::size_t column, const std::vector<Nearby>& by_row) const {
    bool is_crossing = false;
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const Nearby& nearby = by_row[row];
      const double limit = evidence_.limit(i, nearby.error) + evidence_.visible(i);
      const Evidence::Interval met = with_branches(i, nearby, Branches::kAll);
      const double same = limit + kCurvature * (met.high - met.low);
      std::size_t wrong = 0;
      for (std::size_t point = 0; point < nearby.values.size(); ++point) {
        const double value = nearby.values[point];
        is_crossing |= value - met.low > same && met.high - value > same;
        const bool is_known = !nearby.claimed.empty();
        if (is_known && !(std::abs(nearby.claimed[point] - value) <= limit)) ++wrong;
      }
      if (2 * wrong > nearby.values.size()) return false;
    }
    return is_crossing;
  }

  bool holds_with(std::size_t column, const std::vector<Nearby>& by_row, Branches which) const {
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      if (!evidence_.holds(i, with_branches(i, by_row[row], which))) return false;
    }
    return true;
  }

  void widen(std::size_t column, const std::vector<Nearby>& by_row) {
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const Evidence::Interval found = with_branches(i, by_row[row], Branches::kMetTwice);
      reference_.low[i] = found.low;
      reference_.high[i] = found.high;
      reference_.value[i] = (found.low + found.high) / 2;
      reference_.error[i] = found.error;
    }
    reference_.flags[column] = kKink | kSubgradient;
  }

  // Whether derivatives near by are apart from [low, high] and not apart by less the nearer they
  // are.
  bool has_branches(std::size_t column,
                    const std::vector<Nearby>& far,
                    const std::vector<Nearby>& near) const {
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const auto apart = [&](const Hull& hull) {
        return std::max(hull.high - reference_.high[i], reference_.low[i] - hull.low);
      };
      const double nearer = apart(near[row].hull());
      const bool is_seen = nearer > evidence_.limit(i, near[row].error) + evidence_.visible(i);
      if (is_seen && nearer > kSameDistance * apart(far[row].hull())) return true;
    }
    return false;
  }

  // Where there is no derivative at x, as at a kink that the steps do not fit: those near by are
  // all that there is to go by. They prove a claim, and refute none.
  void adopt_branches(std::size_t column,
                      const std::vector<Nearby>& by_row_far,
                      const std::vector<Nearby>& by_row) {
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const Hull far = by_row_far[row].hull();
      const Hull near = by_row[row].hull();
      const double error = std::max(by_row_far[row].error, by_row[row].error);
      const double change = std::max(std::abs(far.low - near.low), std::abs(far.high - near.high));
      // The first measurement may be that of a jump, beside which everything is small.
      const double size = std::max(std::abs(near.low), std::abs(near.high));
      const double visible = std::min(evidence_.visible(i), evidence_.resolution() * size);
      if (!(evidence_.limit(i, error) + change <= visible)) return;
      if (!evidence_.holds(i, {near.low, near.high, error})) return;
    }
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const Hull far = by_row_far[row].hull();
      const Hull near = by_row[row].hull();
      const double error = std::max(by_row_far[row].error, by_row[row].error);
      const double width = near.high - near.low;
      const bool is_bend =
          width <= kSameDistance * (far.high - far.low) || width <= evidence_.limit(i, error);
      reference_.value[i] = near.low + width / 2;
      reference_.scale[i] = std::max(std::abs(near.low), std::abs(near.high));
      reference_.low[i] = is_bend ? reference_.value[i] : near.low;
      reference_.high[i] = is_bend ? reference_.value[i] : near.high;
      reference_.error[i] = error + std::abs(far.low - near.low) + std::abs(far.high - near.high) +
                            (is_bend ? width : 0);
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
