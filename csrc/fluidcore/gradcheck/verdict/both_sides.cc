#include "fluidcore/gradcheck/verdict/both_sides.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace fluidcore::gradcheck {

namespace {

class BothSides {
 public:
  BothSides(Evidence& evidence, Remeasure& measure, bool is_coarse)
      : evidence_(evidence),
        reference_(evidence.reference()),
        measure_(measure),
        is_coarse_(is_coarse) {}

  // What the differences at x refute, or do not know.
  Columns look_at(Columns columns) {
    const Derivatives central = measure_(columns, kCentral);
    Columns doubtful;
    Columns places;  // of these in `central`
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (adopt_central(central, j, columns[j])) continue;
      doubtful.push_back(columns[j]);
      places.push_back(j);
    }
    if (doubtful.empty()) return {};
    const bool has_sides = !is_coarse_;
    const auto from = [&](const Steps& steps) {
      return has_sides ? measure_(doubtful, steps, measure_.far()) : Derivatives();
    };
    const Derivatives right = from(kRight);
    const Derivatives left = from(kLeft);
    Columns refuted;
    for (std::size_t j = 0; j < doubtful.size(); ++j) {
      if (has_sides && evidence_.is_sharp(right, j, doubtful[j]) &&
          evidence_.is_sharp(left, j, doubtful[j])) {
        adopt_sides(central, places[j], right, left, j, doubtful[j]);
      } else {
        adopt_second(central, places[j], doubtful[j]);
      }
      if (evidence_.is_only_vaguer(doubtful[j])) {
        evidence_.leave_open(doubtful[j], kSuspect);
      } else if (evidence_.is_refuted(doubtful[j])) {
        refuted.push_back(doubtful[j]);
      }
    }
    return refuted;
  }

 private:
  // Takes column j over into `column`; whether nothing is left to be looked at.
  bool adopt_central(const Derivatives& central, std::size_t j, std::size_t column) {
    if (!is_smooth(central, j)) return false;
    const Derivatives found = picked(central, {j});
    if (is_smooth(reference_, column)) {
      for (std::size_t row = 0; row < evidence_.rows(); ++row) {
        const std::size_t i = evidence_.at(row, column);
        const double apart = std::abs(found.value[row] - reference_.value[i]);
        const double limit = evidence_.bars() * (found.error[row] + reference_.error[i]);
        if (apart <= limit) continue;
        evidence_.leave_open(column, kKink);
        return true;
      }
    }
    bool is_proven = true;
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const double distance = std::abs(found.value[row] - evidence_.claimed(i));
      is_proven &= distance <= evidence_.first_limit(i);
      is_proven &= evidence_.is_sharp(i, found.error[row]) &&
                   evidence_.holds(i, {found.low[row], found.high[row], found.error[row]});
    }
    if (is_proven) copy_column(found, 0, reference_, column);
    return is_proven;
  }

  // Whether the first measurement has found the one-sided derivatives, too, and central differences
  // a value between them, or an interval around them. Else all of it is chance.
  bool agree(const Derivatives& central,
             std::size_t place,
             const Derivatives& right,
             const Derivatives& left,
             std::size_t j,
             std::size_t column) const {
    if ((central.flags[place] & (kJump | kDomain)) != 0) return false;
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const std::size_t k = row * static_cast<std::size_t>(right.elements) + j;
      const std::size_t c = row * static_cast<std::size_t>(central.elements) + place;
      const auto [low, high] = std::minmax(right.value[k], left.value[k]);
      const double side_error = std::max(right.error[k], left.error[k]);
      const double limit =
          evidence_.bars() * (central.error[c] + side_error) + evidence_.visible(i);
      const bool is_around = central.low[c] <= low + limit && high <= central.high[c] + limit;
      const bool is_between = low <= central.low[c] + limit && central.high[c] <= high + limit;
      if (!is_around && !is_between) return false;
      const double first =
          evidence_.bars() * (reference_.error[i] + side_error) + evidence_.visible(i);
      if (low > reference_.high[i] + first || high < reference_.low[i] - first) return false;
    }
    return true;
  }

  // Where there are not two sides, as at an edge of the domain: the second central differences.
  void adopt_second(const Derivatives& central, std::size_t place, std::size_t column) {
    if (is_smooth(central, place) && is_smooth(reference_, column)) {
      copy_column(central, place, reference_, column);
    } else {
      evidence_.leave_open(column, central.flags[place]);
    }
  }

  void adopt_sides(const Derivatives& central,
                   std::size_t place,
                   const Derivatives& right,
                   const Derivatives& left,
                   std::size_t j,
                   std::size_t column) {
    if (!agree(central, place, right, left, j, column)) {
      evidence_.leave_open(column, kKink);
      return;
    }
    bool is_kink = false;
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      const std::size_t k = row * static_cast<std::size_t>(right.elements) + j;
      const double error = std::max(right.error[k], left.error[k]);
      evidence_.bend(i) = right.value[k] - left.value[k];
      const double gap = std::abs(evidence_.bend(i));
      is_kink |= gap > evidence_.bars() * (right.error[k] + left.error[k]) + evidence_.tolerance(i);
      reference_.low[i] = std::min(right.value[k], left.value[k]);
      reference_.high[i] = std::max(right.value[k], left.value[k]);
      reference_.value[i] = reference_.low[i] + gap / 2;
      reference_.error[i] = error;
      reference_.scale[i] = std::max(right.scale[k], left.scale[k]);
    }
    reference_.flags[column] = is_kink ? kKink | kSubgradient : 0;
    if (is_kink) return;
    if (!is_smooth(central, place)) {
      evidence_.leave_open(column, kKink);
      return;
    }
    // Where the sides are alike, central differences tell more than each of them, unless f curves
    // otherwise on one side.
    const Derivatives sides = picked(reference_, {column});
    copy_column(central, place, reference_, column);
    for (std::size_t row = 0; row < evidence_.rows(); ++row) {
      const std::size_t i = evidence_.at(row, column);
      double& error = reference_.error[i];
      if (sides.error[row] < error) {
        reference_.value[i] = reference_.low[i] = reference_.high[i] = sides.value[row];
        reference_.scale[i] = sides.scale[row];
        error = sides.error[row] + (sides.high[row] - sides.low[row]) / 2;
        continue;
      }
      const double value = reference_.value[i];
      const double apart = std::max(value - sides.low[row], sides.high[row] - value);
      if (apart > evidence_.bars() * (error + sides.error[row])) error = std::max(error, apart);
    }
  }

  Evidence& evidence_;
  Derivatives& reference_;  // that of the evidence
  Remeasure& measure_;
  bool is_coarse_;
};

}  // namespace

Columns look_at_both_sides(Evidence& evidence,
                           Remeasure& measure,
                           Columns columns,
                           bool is_coarse) {
  return BothSides(evidence, measure, is_coarse).look_at(std::move(columns));
}

}  // namespace fluidcore::gradcheck
