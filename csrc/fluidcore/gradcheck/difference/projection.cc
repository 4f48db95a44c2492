#include "fluidcore/gradcheck/difference/projection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fluidcore/gradcheck/difference/hull.h"
#include "fluidcore/gradcheck/function/infinity.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kGrowing = 1.5;     // of a jump the difference of one-sided quotients doubles
constexpr double kSteeper = 1.3;     // and so does what a level changes; of a root it grows by 1.41
constexpr int kFewestQuotients = 4;  // that show it

Hull hull_of(const Ladder& ladder, std::int64_t slot, int levels) {
  Hull hull;
  for (int level = 0; level < std::min(levels, Ladder::kHull); ++level) {
    hull.low = std::min(hull.low, ladder.field(Ladder::kLow + level)[slot]);
    hull.high = std::max(hull.high, ladder.field(Ladder::kHigh + level)[slot]);
  }
  return hull;
}

// The quotients of the last levels, newest first: at most five, the return value tells how many.
// The last row of the extrapolation holds them all.
int quotients_of(const Ladder& ladder,
                 std::int64_t slot,
                 const Ladder::Progress& progress,
                 std::array<double, Ladder::kColumns>& quotients) {
  const int count = std::min(progress.since, Ladder::kColumns);
  std::array<double, Ladder::kColumns> row{};
  for (int j = 0; j < count; ++j) row[j] = ladder.field(Ladder::kValues + j)[slot];
  for (int level = 0; level < count; ++level) {
    quotients[level] = row[0];
    for (int j = 0; j + 1 < count - level; ++j) {
      const double ratio = progress.sizes[level + j + 1] / progress.sizes[level];
      row[j] = ratio * ratio * row[j] - (ratio * ratio - 1) * row[j + 1];
    }
  }
  return count;
}

// Whether the quotients grow from level to level, and ever more, as those of a jump do whose middle
// is the value at the point: the two sides are alike, and nothing else tells.
bool is_symmetric_jump(const Ladder& ladder,
                       std::int64_t slot,
                       const Ladder::Progress& progress,
                       double error) {
  std::array<double, Ladder::kColumns> quotients{};
  const int count = quotients_of(ladder, slot, progress, quotients);
  if (count < kFewestQuotients) return false;
  constexpr double kSeen = 4;
  constexpr double kSmall = 0.5;
  // By how much they grow for each e-th of the step.
  const auto growth = [&](int i) {
    return (quotients[i] - quotients[i + 1]) / std::log(progress.sizes[i + 1] / progress.sizes[i]);
  };
  const double last = quotients[0] - quotients[1];
  const bool is_seen = std::abs(last) > kSeen * ladder.field(Ladder::kNoises)[slot];
  if (!is_seen || error < kSmall * std::abs(last)) return false;
  for (int i = 1; i + 1 < count; ++i) {
    const double before = growth(i);
    const double after = growth(i - 1);
    if (before * after <= 0 || std::abs(after) < kSteeper * std::abs(before)) return false;
  }
  return true;
}

}  // namespace

std::uint8_t settle_slots(Ladder& ladder,
                          std::int64_t begin,
                          std::int64_t end,
                          const Ladder::Progress& progress,
                          bool one_sided) {
  double* const best = ladder.field(Ladder::kBest);
  double* const error = ladder.field(Ladder::kError);
  unsigned flags = 0;
  for (std::int64_t s = begin; s < end; ++s) {
    Hull hull;
    if (ladder.field(Ladder::kClean)[s] >= Ladder::settled_levels(one_sided)) {
      error[s] = std::max(error[s], ladder.field(Ladder::kExcess)[s]);
      if (!one_sided && is_symmetric_jump(ladder, s, progress, error[s])) {
        best[s] = ladder.field(Ladder::kValues)[s];
        error[s] = kInfinity;
      } else if (!std::isfinite(error[s])) {
        best[s] = ladder.field(Ladder::kValues)[s];
        error[s] = ladder.field(Ladder::kChange)[s] + 2 * ladder.field(Ladder::kNoises)[s];
      }
      hull = {best[s], best[s]};
      if (!std::isfinite(error[s])) flags |= kJump;
    } else {
      hull = hull_of(ladder, s, progress.since);
      const bool grows =
          progress.since < 2 || std::abs(ladder.field(Ladder::kBend)[s]) >
                                    kGrowing * std::abs(ladder.field(Ladder::kBendBefore)[s]);
      const bool is_jump = grows || !std::isfinite(hull.high - hull.low);
      flags |= is_jump ? kJump : kKink;
      best[s] = hull.low + (hull.high - hull.low) / 2;
      error[s] = is_jump ? kInfinity : 0;
    }
    ladder.field(Ladder::kLow)[s] = hull.low;
    ladder.field(Ladder::kHigh)[s] = hull.high;
  }
  return static_cast<std::uint8_t>(flags);
}

void project(const Ladder& ladder,
             const MovedOutputs& moved,
             std::int64_t row,
             const Question& question,
             std::int64_t position,
             Derivatives& to) {
  const double* const value = ladder.field(Ladder::kBest);
  const double* const error = ladder.field(Ladder::kError);
  const double* const low = ladder.field(Ladder::kLow);
  const double* const high = ladder.field(Ladder::kHigh);
  for (std::size_t c = 0; c < question.cotangents.size(); ++c) {
    const double* const v = question.cotangents[c].data();
    double sum = 0;
    double squares = 0;
    double least = 0;
    double most = 0;
    double size = 0;
    bool unbounded = false;
    for (std::int64_t s = moved.begin(row); s < moved.end(row); ++s) {
      const double weight = v[moved.output(s)];
      const double at_low = weight * low[s];
      const double at_high = weight * high[s];
      sum += weight * value[s];
      // Infinite also for weight 0: an output that jumps says nothing of how f goes on.
      unbounded |= error[s] == kInfinity;
      squares += (weight * error[s]) * (weight * error[s]);
      least += std::min(at_low, at_high);
      most += std::max(at_low, at_high);
      size += std::max(std::abs(at_low), std::abs(at_high));
    }
    const auto at = c * static_cast<std::size_t>(to.elements) + static_cast<std::size_t>(position);
    to.value[at] = sum;
    to.error[at] = unbounded ? kInfinity : std::sqrt(squares);
    to.low[at] = least;
    to.high[at] = most;
    to.scale[at] = size;
  }
}

void write_no_derivative(std::int64_t position, Derivatives& to) {
  for (std::int64_t c = 0; c < to.cotangents; ++c) {
    const auto at = static_cast<std::size_t>(c * to.elements + position);
    to.value[at] = std::numeric_limits<double>::quiet_NaN();
    to.error[at] = kInfinity;
    to.low[at] = -kInfinity;
    to.high[at] = kInfinity;
    to.scale[at] = 0;
  }
  to.flags[static_cast<std::size_t>(position)] = kDomain;
}

void add_absorption(const MovedOutputs& moved,
                    const double* base,
                    std::int64_t row,
                    const Question& question,
                    double rounding,
                    std::int64_t position,
                    Derivatives& to,
                    std::vector<double>& absorbed) {
  for (std::size_t c = 0; c < question.cotangents.size(); ++c) {
    const double* const v = question.cotangents[c].data();
    double squares = 0;
    moved.for_each_still(row, [&](std::int64_t j) {
      const double hidden = v[j] * (rounding * base[j]);
      squares += hidden * hidden;
    });
    const auto at = c * static_cast<std::size_t>(to.elements) + static_cast<std::size_t>(position);
    absorbed[at] = std::sqrt(squares);
    to.error[at] = std::hypot(to.error[at], absorbed[at]);
  }
}

void flag_absorbed(const std::vector<double>& absorbed,
                   double resolution,
                   Derivatives& derivatives) {
  constexpr double kSmall = 0.01;
  const auto elements = static_cast<std::size_t>(derivatives.elements);
  for (std::size_t c = 0; c < static_cast<std::size_t>(derivatives.cotangents); ++c) {
    double largest = 0;
    for (std::size_t i = c * elements; i < (c + 1) * elements; ++i) {
      if (std::isnan(derivatives.value[i])) continue;
      largest = std::max({largest, std::abs(derivatives.value[i]), derivatives.scale[i]});
    }
    for (std::size_t i = c * elements; i < (c + 1) * elements; ++i) {
      const double scale = std::max(std::abs(derivatives.value[i]), kSmall * largest);
      const bool matters =
          absorbed[i] > resolution * scale && absorbed[i] > derivatives.error[i] / 2;
      if (matters) derivatives.flags[i - c * elements] |= kAbsorbed;
    }
  }
}

}  // namespace fluidcore::gradcheck
