#include "fluidcore/gradcheck/confirm.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "fluidcore/gradcheck/differentiate.h"
#include "fluidcore/gradcheck/nearby.h"
#include "fluidcore/gradcheck/rounding.h"
#include "fluidcore/gradcheck/subgradient.h"
#include "fluidcore/gradcheck/unrecoverable.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How steps are taken. The stretches have few bits, and are no powers of two apart.
struct Steps {
  double stretch = 1;
  Approach approach = {};
};
constexpr Steps kCentral = {101.0 / 128, {0, true}};
constexpr Steps kRight = {79.0 / 128, {1, true}};
constexpr Steps kLeft = {165.0 / 128, {-1, true}};
constexpr Steps kNearBy = {};

constexpr std::ptrdiff_t kFirst = 4;   // columns that are looked at before the others
constexpr std::ptrdiff_t kGrowth = 4;  // of their number, as long as none of them is refuted
constexpr std::ptrdiff_t kShown = 64;  // columns that are looked at after one is refuted
constexpr double kSame = 0.5;          // of a smooth f, what is nearer is apart by an eighth

using Columns = std::vector<std::size_t>;

enum class Noise { kNear, kFar };

// Columns of derivatives.
using Measure = std::function<Derivatives(const Columns& columns, const Steps& steps, Noise noise)>;

class Confirmation {
 public:
  Confirmation(Function& function,
               Measure measure,
               const Claim& claim,
               std::vector<std::int64_t> elements,
               const std::vector<double>& noise,
               const Rules& rules,
               const ConfirmOptions& options,
               Derivatives& reference)
      : function_(function),
        measure_(std::move(measure)),
        claim_(claim),
        elements_(std::move(elements)),
        is_rough_(!options.far_noise.empty() && options.far_noise != noise),
        rules_(rules),
        options_(options),
        reference_(reference),
        rows_(static_cast<std::size_t>(reference.cotangents)),
        size_(static_cast<std::size_t>(reference.elements)) {}

  // Whether nothing is refuted.
  bool run() {
    const Columns columns = in_doubt();
    auto begin = columns.begin();
    for (std::ptrdiff_t count = kFirst; begin != columns.end(); count *= kGrowth) {
      const auto end = begin + std::min(count, columns.end() - begin);
      if (look_at(Columns(begin, end))) {
        const auto shown = end + std::min(kShown, columns.end() - end);
        look_at_both_sides(Columns(end, shown));
        return false;
      }
      begin = end;
    }
    return true;
  }

  // Leaves elements at kinks open that are right one by one, but not together.
  void settle_kinks(const Question& question) {
    Columns kinks;
    for (std::size_t column = 0; column < size_; ++column) {
      constexpr unsigned kBoth = kKink | kSubgradient;
      if ((reference_.flags[column] & kBoth) == kBoth) kinks.push_back(column);
    }
    if (kinks.empty()) return;
    for (std::size_t row = 0; row < rows_; ++row) {
      AtKinks together;
      together.input = claim_.input;
      double seen = kInfinity;
      for (std::size_t column = 0; column < size_; ++column) {
        const std::size_t i = at(row, column);
        together.elements.push_back(elements_[column]);
        together.claimed.push_back(claim_.value[i]);
        together.allowed.push_back(limit(i, reference_.error[i]));
        together.bend.push_back(bend_[i]);
        together.is_kink.push_back((reference_.flags[column] & kKink) != 0);
      }
      for (const std::size_t column : kinks) seen = std::min(seen, visible_[at(row, column)]);
      const Question one{{question.cotangents[row]}, question.noise};
      const std::optional<double> unseen =
          subgradient_error(function_, together, one, rules_.bars, options_.seed, evaluations_);
      if (!unseen) {
        for (const std::size_t column : kinks) leave_open(column, kKink);
        return;
      }
      if (*unseen > seen) continue;  // no bend, but kinks that do not belong together
      for (const std::size_t column : kinks) reference_.error[at(row, column)] += *unseen;
    }
  }

  std::int64_t evaluations() const { return evaluations_; }

 private:
  struct Interval {
    double low;
    double high;
    double error;
  };

  std::size_t at(std::size_t row, std::size_t column) const { return row * size_ + column; }

  double limit(std::size_t i, double error) const {
    return rules_.bars * error + claim_.tolerance[i];
  }
  bool holds(std::size_t i, const Interval& found) const {
    const double distance =
        std::max({found.low - claim_.value[i], claim_.value[i] - found.high, 0.0});
    return distance <= limit(i, found.error);
  }
  bool is_sharp(std::size_t i, double error) const { return limit(i, error) <= visible_[i]; }

  // What is not proven, the worst first: then what is refuted, by how many limits, then the rest.
  Columns in_doubt() {
    Judgement first = judge(reference_, claim_.value, claim_.tolerance, rules_);
    std::vector<std::pair<double, std::size_t>> ranked;
    for (std::size_t column = 0; column < size_; ++column) {
      double excess = -1;
      for (std::size_t row = 0; row < rows_; ++row) {
        const std::size_t i = at(row, column);
        if (!std::isfinite(claim_.value[i])) continue;
        // What the point absorbs, it absorbs at other steps, too.
        const bool is_absorbed = (reference_.flags[column] & kAbsorbed) != 0;
        if (first.unsure[i] && !is_absorbed) excess = std::max(excess, 0.0);
        if (!first.wrong[i]) continue;
        const double off = std::abs(first.analytical[i] - first.nearest[i]);
        excess = std::max(excess, off / (first.limit[i] + 1e-300));
      }
      if (excess >= 0) ranked.emplace_back(-excess, column);
    }
    visible_ = std::move(first.measure);
    for (double& value : visible_) value *= rules_.resolution;
    first_limit_ = std::move(first.limit);
    for (std::size_t i = 0; i < first_limit_.size(); ++i) {
      if (!first.wrong[i]) first_limit_[i] = kInfinity;
    }
    bend_.resize(ranked.empty() ? 0 : visible_.size());
    std::sort(ranked.begin(), ranked.end());
    Columns columns;
    for (const auto& [rank, column] : ranked) columns.push_back(column);
    return columns;
  }

  Derivatives measure(const Columns& columns, const Steps& steps, Noise noise = Noise::kNear) {
    Derivatives found = measure_(columns, steps, noise);
    evaluations_ += found.evaluations;
    return found;
  }

  // Where f is rough, sides that differ by no more than that are no kink, and points near by no
  // branches.
  Noise worst_noise() const { return is_rough_ ? Noise::kFar : Noise::kNear; }

  // Whether one of the columns is refuted.
  bool look_at(const Columns& columns) {
    const Columns refuted = look_at_both_sides(columns);
    // A direction that is refuted is searched for an element that is, which is looked at there.
    if (!refuted.empty() && !elements_.empty()) look_near(refuted);
    return std::any_of(refuted.begin(), refuted.end(),
                       [&](std::size_t column) { return is_refuted(column); });
  }

  // Of the columns those that are not proven where f is as rough as on a wide line. What that does
  // not refute either is vague: what finer steps see may be a tread.
  Columns look_at_rough(const Columns& columns, std::vector<std::uint8_t>& is_vague) {
    const Derivatives rough = measure(columns, kCentral, Noise::kFar);
    Columns left;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (adopt_central(rough, j, columns[j])) continue;
      left.push_back(columns[j]);
      bool is_refuted = false;
      for (std::size_t row = 0; row < rows_ && is_smooth(rough, j); ++row) {
        const std::size_t k = row * columns.size() + j;
        is_refuted |= !holds(at(row, columns[j]), {rough.low[k], rough.high[k], rough.error[k]});
      }
      is_vague[columns[j]] = !is_refuted;
    }
    return left;
  }

  // What the differences at x refute, or do not know.
  Columns look_at_both_sides(Columns columns) {
    std::vector<std::uint8_t> is_vague(size_);
    if (is_rough_) columns = look_at_rough(columns, is_vague);
    if (columns.empty()) return {};
    const Derivatives central = measure(columns, kCentral);
    Columns doubtful;
    Columns places;  // of these in `central`
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (adopt_central(central, j, columns[j])) continue;
      doubtful.push_back(columns[j]);
      places.push_back(j);
    }
    if (doubtful.empty()) return {};
    const bool has_sides = !is_coarse();
    const auto from = [&](const Steps& steps) {
      return has_sides ? measure(doubtful, steps, worst_noise()) : Derivatives();
    };
    const Derivatives right = from(kRight);
    const Derivatives left = from(kLeft);
    Columns refuted;
    for (std::size_t j = 0; j < doubtful.size(); ++j) {
      if (has_sides && is_sharp(right, j, doubtful[j]) && is_sharp(left, j, doubtful[j])) {
        adopt_sides(central, places[j], right, left, j, doubtful[j]);
      } else {
        adopt_second(central, places[j], doubtful[j]);
      }
      const bool is_refutable = is_refuted(doubtful[j]);
      const bool is_only_suspect = (is_refutable && is_vague[doubtful[j]] != 0) ||
                                   (is_coarse() && is_only_vaguer(doubtful[j]));
      if (is_only_suspect) {
        leave_open(doubtful[j], kSuspect);
        continue;
      }
      const bool jumps = (reference_.flags[doubtful[j]] & kJump) != 0;
      if (is_refutable || (is_open(doubtful[j]) && !jumps)) refuted.push_back(doubtful[j]);
    }
    return refuted;
  }

  // Whether what the first measurement refutes holds for longer error bars alone.
  bool is_only_vaguer(std::size_t column) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const double distance =
          std::max(reference_.low[i] - claim_.value[i], claim_.value[i] - reference_.high[i]);
      const Interval found{reference_.low[i], reference_.high[i], reference_.error[i]};
      if (distance > first_limit_[i] && holds(i, found)) return true;
    }
    return false;
  }

  // Whether there is no derivative at x.
  bool is_open(std::size_t column) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      if (!std::isfinite(reference_.error[at(row, column)])) return true;
    }
    return false;
  }

  bool is_refuted(std::size_t column) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      if (!std::isfinite(reference_.error[i])) return false;
      if (!holds(i, {reference_.low[i], reference_.high[i], reference_.error[i]})) return true;
    }
    return false;
  }

  // Takes column j over into `column`; whether nothing is left to be looked at.
  bool adopt_central(const Derivatives& central, std::size_t j, std::size_t column) {
    if (!is_smooth(central, j)) return false;
    Derivatives found = picked(central, {j});
    if ((reference_.flags[column] & kJump) != 0) {
      // Only now is a size known that errors are compared with.
      for (std::size_t row = 0; row < rows_; ++row) {
        double& visible = visible_[at(row, column)];
        visible = std::max(visible, rules_.resolution * std::abs(found.value[row]));
      }
    }
    if (is_smooth(reference_, column)) {
      for (std::size_t row = 0; row < rows_; ++row) {
        const std::size_t i = at(row, column);
        const double apart = std::abs(found.value[row] - reference_.value[i]);
        const double limit = rules_.bars * (found.error[row] + reference_.error[i]);
        if (apart <= limit) continue;
        if (apart > visible_[i]) {
          leave_open(column, kKink);
          return true;
        }
        found.error[row] = apart;  // the error bars were too short
      }
    }
    bool is_proven = true;
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const double distance = std::abs(found.value[row] - claim_.value[i]);
      is_proven &= !is_coarse() || distance <= first_limit_[i];
      is_proven &= is_sharp(i, found.error[row]) &&
                   holds(i, {found.low[row], found.high[row], found.error[row]});
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
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const std::size_t k = row * static_cast<std::size_t>(right.elements) + j;
      const std::size_t c = row * static_cast<std::size_t>(central.elements) + place;
      const auto [low, high] = std::minmax(right.value[k], left.value[k]);
      const double side_error = std::max(right.error[k], left.error[k]);
      const double limit = rules_.bars * (central.error[c] + side_error) + visible_[i];
      const bool is_around = central.low[c] <= low + limit && high <= central.high[c] + limit;
      const bool is_between = low <= central.low[c] + limit && central.high[c] <= high + limit;
      if (!is_around && !is_between) return false;
      const double first = rules_.bars * (reference_.error[i] + side_error) + visible_[i];
      if (low > reference_.high[i] + first || high < reference_.low[i] - first) return false;
    }
    return true;
  }

  // Whether column j of `found` tells what a PASS must be able to see.
  bool is_sharp(const Derivatives& found, std::size_t j, std::size_t column) const {
    if (!is_smooth(found, j)) return false;
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t k = row * static_cast<std::size_t>(found.elements) + j;
      if (!is_sharp(at(row, column), found.error[k])) return false;
    }
    return true;
  }

  void leave_open(std::size_t column, std::uint8_t flag) {
    for (std::size_t row = 0; row < rows_; ++row) {
      double& error = reference_.error[at(row, column)];
      error = kInfinity;
    }
    reference_.flags[column] |= flag;
  }

  // In 16 bits one side by itself tells little, and the noise of f is not known.
  bool is_coarse() const {
    constexpr double kCoarse = 0x1p-20;
    return unit_roundoff(function_.inputs()[claim_.input].dtype()) > kCoarse;
  }

  // Where there are not two sides, as at an edge of the domain: the second central differences.
  void adopt_second(const Derivatives& central, std::size_t place, std::size_t column) {
    if (is_smooth(central, place) && is_smooth(reference_, column)) {
      copy_column(central, place, reference_, column);
    } else {
      leave_open(column, central.flags[place]);
    }
  }

  void adopt_sides(const Derivatives& central,
                   std::size_t place,
                   const Derivatives& right,
                   const Derivatives& left,
                   std::size_t j,
                   std::size_t column) {
    if (!agree(central, place, right, left, j, column)) {
      leave_open(column, kKink);
      return;
    }
    bool is_kink = false;
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const std::size_t k = row * static_cast<std::size_t>(right.elements) + j;
      const double error = std::max(right.error[k], left.error[k]);
      bend_[i] = right.value[k] - left.value[k];
      const double gap = std::abs(bend_[i]);
      is_kink |= gap > rules_.bars * (right.error[k] + left.error[k]) + claim_.tolerance[i];
      reference_.low[i] = std::min(right.value[k], left.value[k]);
      reference_.high[i] = std::max(right.value[k], left.value[k]);
      reference_.value[i] = reference_.low[i] + gap / 2;
      reference_.error[i] = error;
      reference_.scale[i] = std::max(right.scale[k], left.scale[k]);
    }
    reference_.flags[column] = is_kink ? kKink | kSubgradient : 0;
    if (is_kink) return;
    if (!is_smooth(central, place)) {
      leave_open(column, kKink);
      return;
    }
    // Where the sides are alike, central differences tell more than each of them.
    const Derivatives sides = picked(reference_, {column});
    copy_column(central, place, reference_, column);
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const double value = reference_.value[i];
      const double apart = std::max(value - sides.low[row], sides.high[row] - value);
      reference_.error[i] = std::max(reference_.error[i], apart);
    }
  }

  Surroundings look_around(const Columns& columns, Ring ring) {
    std::vector<std::int64_t> held;
    for (const std::size_t column : columns) held.push_back(elements_[column]);
    const auto here = [&] { return measure(columns, kNearBy, worst_noise()); };
    Surroundings around =
        gradcheck::look_around(function_, claim_.input, ring, held, options_.seed, here);
    evaluations_ += around.runs;
    return around;
  }

  // Widens [low, high] of the columns by the derivatives at points near by.
  void look_near(const Columns& columns) {
    const Surroundings far = look_around(columns, Ring::kFar);
    const Surroundings near = look_around(columns, Ring::kNear);
    Columns branching;
    Columns places;  // of these in `columns`
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const bool is_seen = !far.smooth.empty() && !near.smooth.empty() &&
                           2 * (far.smooth[j] + near.smooth[j]) >= far.points + near.points;
      if (!is_seen) {
        leave_open(columns[j], kKink);
      } else if (is_open(columns[j])) {
        adopt_branches(columns[j], far.columns[j], near.columns[j]);
      } else if (has_branches(columns[j], far.columns[j], near.columns[j])) {
        if (!holds_with(columns[j], near.columns[j], Branches::kAll)) {
          widen(columns[j], near.columns[j]);
        } else {
          branching.push_back(columns[j]);
          places.push_back(j);
        }
      }
    }
    if (branching.empty()) return;
    // What holds the claim must be met again, and be there nearer to x, too: else it is one branch
    // of many, or rounding, or what a smooth f does further away.
    const Surroundings nearest = look_around(branching, Ring::kNearest);
    for (std::size_t j = 0; j < branching.size(); ++j) {
      const bool is_held = !nearest.columns.empty() &&
                           holds_with(branching[j], near.columns[places[j]], Branches::kMetTwice) &&
                           holds_with(branching[j], nearest.columns[j], Branches::kMetTwice);
      if (is_held) {
        widen(branching[j], nearest.columns[j]);
      } else {
        leave_open(branching[j], kKink);
      }
    }
  }

  enum class Branches { kAll, kMetTwice };

  // What is between [low, high] and derivatives near by.
  Interval with_branches(std::size_t i, const Nearby& nearby, Branches which) const {
    const Hull hull = which == Branches::kAll
                          ? nearby.hull()
                          : nearby.repeated(limit(i, nearby.error) + visible_[i]);
    return {std::min(reference_.low[i], hull.low), std::max(reference_.high[i], hull.high),
            std::max(reference_.error[i], nearby.error)};
  }

  bool holds_with(std::size_t column, const std::vector<Nearby>& by_row, Branches which) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      if (!holds(i, with_branches(i, by_row[row], which))) return false;
    }
    return true;
  }

  void widen(std::size_t column, const std::vector<Nearby>& by_row) {
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const Interval found = with_branches(i, by_row[row], Branches::kMetTwice);
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
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const auto apart = [&](const Hull& hull) {
        return std::max(hull.high - reference_.high[i], reference_.low[i] - hull.low);
      };
      const double nearer = apart(near[row].hull());
      const bool is_seen = nearer > limit(i, near[row].error) + visible_[i];
      if (is_seen && nearer > kSame * apart(far[row].hull())) return true;
    }
    return false;
  }

  // Where there is no derivative at x, as at a kink that the steps do not fit: those near by are
  // all that there is to go by. They prove a claim, and refute none.
  void adopt_branches(std::size_t column,
                      const std::vector<Nearby>& by_row_far,
                      const std::vector<Nearby>& by_row) {
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const Hull far = by_row_far[row].hull();
      const Hull near = by_row[row].hull();
      const double error = std::max(by_row_far[row].error, by_row[row].error);
      const double change = std::max(std::abs(far.low - near.low), std::abs(far.high - near.high));
      // The first measurement may be that of a jump, beside which everything is small.
      const double size = std::max(std::abs(near.low), std::abs(near.high));
      const double visible = std::min(visible_[i], rules_.resolution * size);
      if (!(limit(i, error) + change <= visible)) return;
      if (!holds(i, {near.low, near.high, error})) return;
    }
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t i = at(row, column);
      const Hull far = by_row_far[row].hull();
      const Hull near = by_row[row].hull();
      const double error = std::max(by_row_far[row].error, by_row[row].error);
      const double width = near.high - near.low;
      const bool is_bend = width <= kSame * (far.high - far.low) || width <= limit(i, error);
      reference_.value[i] = near.low + width / 2;
      reference_.scale[i] = std::max(std::abs(near.low), std::abs(near.high));
      reference_.low[i] = is_bend ? reference_.value[i] : near.low;
      reference_.high[i] = is_bend ? reference_.value[i] : near.high;
      reference_.error[i] = error + std::abs(far.low - near.low) + std::abs(far.high - near.high) +
                            (is_bend ? width : 0);
    }
    reference_.flags[column] = kKink | kSubgradient;
  }

  Function& function_;
  Measure measure_;
  const Claim& claim_;
  std::vector<std::int64_t> elements_;  // of the columns; empty where they are directions
  bool is_rough_;                       // whether f is noisier on a wide line
  const Rules& rules_;
  const ConfirmOptions& options_;
  Derivatives& reference_;
  std::size_t rows_;
  std::size_t size_;
  std::vector<double> visible_;      // [cotangents, elements]: an error that a PASS must see
  std::vector<double> first_limit_;  // the same: of the first measurement, where it refutes
  std::vector<double> bend_;         // the same: the right derivative minus the left one
  std::int64_t evaluations_ = 0;
};

void check_sizes(const Claim& claim, std::size_t columns, const Derivatives& reference) {
  const std::size_t size = reference.value.size();
  require(claim.value.size() == size && claim.tolerance.size() == size &&
              columns == static_cast<std::size_t>(reference.elements),
          "gradcheck: a claim must have the size of the reference, ", size, " numbers for ",
          reference.elements, " columns, got ", claim.value.size(), " for ", columns);
}

}  // namespace

std::int64_t confirm(Function& function,
                     const Claim& claim,
                     const std::vector<std::int64_t>& elements,
                     std::int64_t rows,
                     const Question& question,
                     const Rules& rules,
                     const ConfirmOptions& options,
                     Derivatives& reference) {
  check_sizes(claim, elements.size(), reference);
  const Question rough{question.cotangents, options.far_noise};
  const auto measure = [&](const Columns& columns, const Steps& steps, Noise noise) {
    const Question& asked = noise == Noise::kFar ? rough : question;
    DifferentiateOptions how;
    how.workers = options.workers;
    how.stretch = steps.stretch;
    how.approach = steps.approach;
    const bool is_more = rows > 0 && std::ssize(columns) > reference.elements / rows;
    if (is_more) {
      how.rows = rows;
      return picked(differentiate(function, claim.input, asked, how), columns);
    }
    auto& chosen = how.elements.emplace();
    for (const std::size_t column : columns) chosen.push_back(elements[column]);
    return differentiate(function, claim.input, asked, how);
  };
  return with_plain_exceptions([&] {
    Confirmation confirmation(function, measure, claim, elements, question.noise, rules, options,
                              reference);
    if (confirmation.run()) confirmation.settle_kinks(question);
    return confirmation.evaluations();
  });
}

std::int64_t confirm_probes(Function& function,
                            const Claim& claim,
                            const std::vector<Probe>& probes,
                            const std::vector<double>& noise,
                            const Rules& rules,
                            const ConfirmOptions& options,
                            Derivatives& reference) {
  check_sizes(claim, probes.size(), reference);
  const auto measure = [&](const Columns& columns, const Steps& steps, Noise how_rough) {
    const std::vector<double>& floor = how_rough == Noise::kFar ? options.far_noise : noise;
    std::vector<Probe> chosen;
    for (const std::size_t column : columns) {
      chosen.push_back(probes[column]);
      for (double& d : chosen.back().direction) d *= steps.stretch;
    }
    const auto found = differentiate_probes(function, claim.input, chosen,
                                            {floor, options.workers, steps.approach});
    Derivatives all(1, std::ssize(columns));
    for (std::size_t j = 0; j < found.size(); ++j) {
      copy_column(found[j], 0, all, j);
      all.evaluations += found[j].evaluations;
    }
    for (auto* const part : {&all.value, &all.error, &all.low, &all.high, &all.scale}) {
      for (double& number : *part) number /= steps.stretch;
    }
    return all;
  };
  return with_plain_exceptions([&] {
    Confirmation confirmation(function, measure, claim, {}, noise, rules, options, reference);
    confirmation.run();
    // What lies between the sums of many slopes is not proven by that.
    for (std::uint8_t& flags : reference.flags) flags &= ~unsigned{kSubgradient};
    return confirmation.evaluations();
  });
}

}  // namespace fluidcore::gradcheck
