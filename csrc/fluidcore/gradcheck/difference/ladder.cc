#include "fluidcore/gradcheck/difference/ladder.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <type_traits>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/gradcheck/function/infinity.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::int64_t kSlotsPerThread = 8192;  // fewer are not worth one
constexpr double kFlat = 1e-3;                  // one-sided quotients that differ by less are equal
// Of a smooth function their difference shrinks with the step, and what a level changes with its
// square; with the step itself where f curves otherwise on one side, as elu at 0.
constexpr double kShrinking = 1.2;

// Of numbers, where std::max would be a branch on memory.
double larger(double a, double b) {
  return a < b ? b : a;
}
double smaller(double a, double b) {
  return b < a ? b : a;
}

// By how much a level contradicts an estimate.
double contradiction(double best, double value, double noise, double change) {
  return std::abs(best - value) - noise - change;
}

}  // namespace

void Ladder::reserve(std::int64_t slots) {
  if (slots <= slots_) return;
  // An odd number of cache lines: fields that lie a power of two apart evict each other.
  constexpr std::int64_t kLine = 8;
  const std::int64_t stride = (divide_up(slots, kLine) | 1) * kLine;
  auto data = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(stride * kFields));
  for (int f = 0; f < kFields; ++f) std::copy_n(field(f), slots_, data.get() + f * stride);
  data_ = std::move(data);
  slots_ = stride;
}

void Ladder::clear(std::int64_t begin, std::int64_t end) {
  parallel_for(end - begin, kSlotsPerThread, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t at = begin + first;
    const std::int64_t count = last - first;
    for (const int f : {int{kPlus}, int{kMinus}})
      std::copy_n(field(kMiddle) + at, count, field(f) + at);
    for (const int f : {int{kBest}, int{kExcess}, int{kClean}, int{kCalm}, int{kChange}, int{kBend},
                        int{kBendBefore}, int{kValues}, int{kNoises}}) {
      std::fill_n(field(f) + at, count, 0.0);
    }
    std::fill_n(field(kError) + at, count, kInfinity);
  });
}

Ladder::Progress Ladder::drop(std::int64_t begin, std::int64_t end, const Progress& progress) {
  std::fill(field(kClean) + begin, field(kClean) + end, 0.0);
  std::fill(field(kCalm) + begin, field(kCalm) + end, 0.0);
  return {progress.levels, 0, progress.sizes};
}

template <bool kOneSided, int kCount>
void Ladder::advance_columns(std::int64_t begin,
                             std::int64_t end,
                             const Progress& progress,
                             const Steps& steps,
                             double argument,
                             double flat) {
  const double* const middle = field(kMiddle);
  const double* const plus = field(kPlus);
  const double* const minus = field(kMinus);
  const double* const floor = field(kFloor);
  double* const best = field(kBest);
  double* const error = field(kError);
  double* const excess = field(kExcess);
  double* const clean = field(kClean);
  double* const calm = field(kCalm);
  double* const change_of_last = field(kChange);
  double* const bend = field(kBend);
  double* const bend_before = field(kBendBefore);
  double* const low = field(kLow + (progress.since - 1) % kHull);
  double* const high = field(kHigh + (progress.since - 1) % kHull);
  double* const values = field(kValues);
  double* const noises = field(kNoises);
  const std::int64_t stride = slots_;
  const LadderRule rule = rule_;
  const double h_plus = steps.plus;
  const double h_minus = steps.minus;
  const double width = kOneSided ? std::abs(h_plus) : h_plus + h_minus;
  const double has_before = progress.levels > 1 ? 1 : 0;
  const std::array<double, kColumns>& sizes = progress.sizes;
  const double shrinks = sizes[0] / sizes[1];
  const double changes = sizes[2] > 0 ? (sizes[1] - sizes[0]) / (sizes[2] - sizes[1]) : shrinks;
  const double least_change = kShrinking * changes;
  const double least_bend = kOneSided ? least_change : kShrinking * shrinks;
  std::array<double, kCount> factors{};
  for (int j = 1; j < kCount; ++j) {
    const double ratio = sizes[j] / sizes[0];
    factors[j] = kOneSided ? ratio : ratio * ratio;
  }
  constexpr bool kCanBend = kCount > 1;  // there is a level before this one
  // One-sided quotients are compared as the two sides are: that is enough.
  constexpr bool kCanBeWild = kCount > 2 && !kOneSided;

#pragma omp simd
  for (std::int64_t s = begin; s < end; ++s) {
    const double last_value = values[s];
    const double last_noise = noises[s];
    const double last_change = change_of_last[s];
    const double doubt = contradiction(best[s], last_value, last_noise, last_change);
    double value_before = last_value;
    double noise_before = last_noise;
    const double right = (plus[s] - middle[s]) / h_plus;
    const double left =
        kOneSided ? (kCanBend ? value_before : right) : (middle[s] - minus[s]) / h_minus;
    const double value = kOneSided ? right : (plus[s] - minus[s]) / width;
    const double other = kOneSided ? 0 : std::abs(minus[s]);
    const double size = larger(larger(std::abs(plus[s]), other), std::abs(middle[s]));
    const double wrong = rounding_error(rule, size, std::abs(argument * value), floor[s]);
    const double noise = 2 * wrong / width;
    const double bend_noise = kOneSided ? noise + (kCanBend ? noise_before : 0)
                                        : 2 * wrong / h_plus + 2 * wrong / h_minus;

    const double difference = right - left;
    const double bend_size = std::abs(difference);
    const double slight = flat * larger(std::abs(right), std::abs(left));
    const double shrunk = least_bend * std::abs(bend[s]);
    const bool rough =
        kCanBend & (bend_size > bend_noise) & (bend_size > slight) & (bend_size > shrunk);
    const double smooth = rough ? 0 : 1;
    const double clean_now = smooth * (clean[s] + 1);
    double error_now = rough ? kInfinity : error[s];
    double best_now = best[s];
    double excess_now = excess[s];
    double is_better = 0;

    const double change = has_before * std::abs(value - value_before);
    const bool is_wild =
        kCanBeWild & (change > least_change * last_change) & (change > noise + noise_before);
    const double calm_now = is_wild ? 0 : calm[s] + 1;
    const double usable = smaller(clean_now, calm_now);
    values[s] = value;
    noises[s] = noise;
    double value_here = value;
    double noise_here = noise;
    for (int j = 1; j < kCount; ++j) {
      const double factor = factors[j];
      const std::int64_t column = j * stride + s;
      const double extrapolated = (factor * value_here - value_before) / (factor - 1);
      const double its_noise = (factor * noise_here + noise_before) / (factor - 1);
      const double its_error =
          larger(std::abs(extrapolated - value_here), std::abs(extrapolated - value_before)) +
          its_noise;
      const double limit = j < usable ? larger(error_now, larger(excess_now, doubt)) : -1;
      const bool better = its_error < limit;
      best_now = better ? extrapolated : best_now;
      error_now = better ? its_error : error_now;
      excess_now = better ? 0 : excess_now;
      is_better = better ? 1 : is_better;
      value_before = values[column];
      noise_before = noises[column];
      values[column] = value_here = extrapolated;
      noises[column] = noise_here = its_noise;
    }
    const double here = contradiction(best_now, value, noise, change);
    const double before = contradiction(best_now, last_value, last_noise, last_change);
    excess[s] = is_better > 0 ? 0 : larger(excess_now, smaller(here, 2 * before));
    best[s] = best_now;
    error[s] = error_now;
    clean[s] = clean_now;
    calm[s] = calm_now;
    change_of_last[s] = change;
    bend_before[s] = bend[s];
    // The first one-sided level has nothing to be compared with.
    bend[s] = kOneSided && !kCanBend ? kInfinity : difference;
    low[s] = smaller(right, left) - bend_noise;
    high[s] = larger(right, left) + bend_noise;
  }
}

Ladder::Progress Ladder::advance(std::int64_t begin,
                                 std::int64_t end,
                                 const Progress& progress,
                                 const Steps& steps,
                                 double argument,
                                 Sides sides) {
  // At the edge of a domain roots are usual, and they hide behind a large linear part.
  const double flat = sides == Sides::kEdge ? 0 : kFlat;
  Progress now{progress.levels + 1, progress.since + 1, progress.sizes};
  std::rotate(now.sizes.begin(), now.sizes.end() - 1, now.sizes.end());
  now.sizes[0] = steps.size;
  const auto with = [&](auto columns) {
    constexpr int kCount = decltype(columns)::value;
    parallel_for(end - begin, kSlotsPerThread, [&](std::int64_t first, std::int64_t last) {
      if (sides == Sides::kBoth) {
        advance_columns<false, kCount>(begin + first, begin + last, now, steps, argument, flat);
      } else {
        advance_columns<true, kCount>(begin + first, begin + last, now, steps, argument, flat);
      }
    });
  };
  switch (std::min(now.since, kColumns)) {
    case 1: with(std::integral_constant<int, 1>{}); break;
    case 2: with(std::integral_constant<int, 2>{}); break;
    case 3: with(std::integral_constant<int, 3>{}); break;
    case 4: with(std::integral_constant<int, 4>{}); break;
    default: with(std::integral_constant<int, 5>{});
  }
  return now;
}

void Ladder::take_one(std::int64_t begin, std::int64_t end, const Steps& steps, double argument) {
  const double* const middle = field(kMiddle);
  const double* const plus = field(kPlus);
  const double* const minus = field(kMinus);
  const double width = steps.plus + steps.minus;
  for (std::int64_t s = begin; s < end; ++s) {
    const double right = (plus[s] - middle[s]) / steps.plus;
    const double left = (middle[s] - minus[s]) / steps.minus;
    const double value = (plus[s] - minus[s]) / width;
    const double size = larger(larger(std::abs(plus[s]), std::abs(minus[s])), std::abs(middle[s]));
    const double wrong = rounding_error(rule_, size, std::abs(argument * value), field(kFloor)[s]);
    const double bend_noise = 2 * wrong / steps.plus + 2 * wrong / steps.minus;
    const bool bends = std::abs(right - left) > bend_noise;
    field(kBest)[s] = value;
    field(kError)[s] = 2 * wrong / width;
    field(kLow)[s] = bends ? smaller(right, left) : value;
    field(kHigh)[s] = bends ? larger(right, left) : value;
  }
}

struct Ladder::Extremes {
  double least_clean = kInfinity;
  double least_calm = kInfinity;
  double largest_error = 0;
  double largest_value = 0;
  double unresolved = 0;

  void add(const Extremes& other) {
    least_clean = smaller(least_clean, other.least_clean);
    least_calm = smaller(least_calm, other.least_calm);
    largest_error = larger(largest_error, other.largest_error);
    largest_value = larger(largest_value, other.largest_value);
    unresolved += other.unresolved;
  }
};

Ladder::Extremes Ladder::extremes(std::int64_t begin, std::int64_t end) const {
  const double* const best = field(kBest);
  const double* const error = field(kError);
  const double* const excess = field(kExcess);
  const double* const clean = field(kClean);
  const double* const calm = field(kCalm);
  const double* const value = field(kValues);
  const double* const noise = field(kNoises);
  const double* const change = field(kChange);
  double least_clean = kInfinity;
  double least_calm = kInfinity;
  double largest_error = 0;
  double largest_value = 0;
  double unresolved = 0;
#pragma omp simd reduction(min : least_clean, least_calm) \
    reduction(max : largest_error, largest_value) reduction(+ : unresolved)
  for (std::int64_t s = begin; s < end; ++s) {
    least_clean = smaller(least_clean, clean[s]);
    least_calm = smaller(least_calm, calm[s]);
    const double doubt = contradiction(best[s], value[s], noise[s], change[s]);
    largest_error = larger(largest_error, larger(error[s], larger(excess[s], doubt)));
    largest_value = larger(largest_value, std::abs(best[s]));
    unresolved += ((best[s] == 0) & (error[s] != 0)) ? 1.0 : 0.0;
  }
  return {least_clean, least_calm, largest_error, largest_value, unresolved};
}

Ladder::Standing Ladder::standing(std::int64_t begin, std::int64_t end, bool one_sided) const {
  Extremes all;
  std::mutex mutex;
  parallel_for(end - begin, kSlotsPerThread, [&](std::int64_t first, std::int64_t last) {
    const Extremes part = extremes(begin + first, begin + last);
    const std::lock_guard lock(mutex);
    all.add(part);
  });
  return {all.least_clean >= settled_levels(one_sided), all.least_calm > 1, all.unresolved == 0,
          all.largest_error, all.largest_value};
}

}  // namespace fluidcore::gradcheck
