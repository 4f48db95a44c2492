#include "fluidcore/gradcheck/difference/climb.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/gradcheck/difference/projection.h"
#include "fluidcore/gradcheck/difference/trace.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kTracedLevels = 12;
constexpr int kBalancedLevel = 12;  // whose rounding and truncation are about equal in float64
constexpr int kFiner = 8;
constexpr std::int64_t kOutputsPerThread = 4096;  // of rows; fewer are not worth one

// Levels beside the usual ones: a pole at 0, as that of 1/x, may be as near as |x|, and steps that
// reach across it say nothing. In float64 the usual ones are fine enough for most.
int finer_levels(const LadderRule& rule, double scale, double argument) {
  if (!rule.absorbs || argument == 0 || argument >= scale) return 0;
  return std::min(kFiner, std::ilogb(scale / argument));
}

// By which factor a level is longer than a power of two: halved steps see nothing of sin(2^k πx),
// and of sin(wx) often as much as if it were smooth. The golden ratio, as it repeats nothing, in a
// few bits: a sum that all of a step is added to is rounded as before.
double unevenness(int level) {
  return 1 + (233 * level % 377) / 4096.0;
}

// Runs f at the point before the rest of the constructor, which needs its outputs.
Outputs checked_outputs(Function& function, std::int64_t rows, const Question& question) {
  Outputs outputs(function);
  check(question, outputs.size());
  for (const Outputs::Part& part : outputs.parts()) {
    require(part.size % rows == 0, "gradcheck: rows must divide the size of every output, got ",
            rows, " rows and an output of ", part.size, " elements");
  }
  return outputs;
}

}  // namespace

Climb::Climb(Function& function, DType moved, std::int64_t rows, const Question& question)
    : outputs_(checked_outputs(function, rows, question)),
      base_is_finite_(outputs_.base_is_finite()),
      rule_(rule_of(coarser(moved, outputs_.coarsest()))),
      question_(question),
      moved_(outputs_, rows),
      ladder_(rule_),
      rows_(static_cast<std::size_t>(rows)),
      grain_(std::max<std::int64_t>(
          1, kOutputsPerThread * rows / std::max<std::int64_t>(1, outputs_.size()))),
      chosen_(rows_.size()) {
  live_.reserve(rows_.size());
  // Rows have their slots side by side; one row alone gets as many as it needs.
  if (rows > 1) ladder_.reserve(outputs_.size());
}

void Climb::differentiate(Coordinates& coordinates,
                          const std::vector<std::int64_t>& positions,
                          Derivatives& to,
                          const Approach& approach) {
  approach_ = approach;
  coordinates_ = &coordinates;
  const auto is_wanted = [](std::int64_t position) { return position >= 0; };
  first_position_ = *std::find_if(positions.begin(), positions.end(), is_wanted);
  start(positions);
  if (approach.once) {
    look_once();
  } else {
    if (rule_.absorbs) probe_for_absorption();
    if (approach.side == 0) climb_both_sides();
    climb_one_side();
  }
  for_each_row([&](std::int64_t r) {
    if (row(r).wanted) write(r, positions[static_cast<std::size_t>(r)], to);
  });
  moved_.clear();
}

void Climb::start(const std::vector<std::int64_t>& positions) {
  moved_.clear();  // of a derivative that an exception has ended
  for_each_row([&](std::int64_t r) {
    Row& begun = row(r) = Row();
    begun.scale = coordinates_->scale(r);
    begun.wanted = positions[static_cast<std::size_t>(r)] >= 0;
    begun.climbing = begun.wanted && base_is_finite_ && begun.scale > 0;
    begun.lost = !begun.climbing;
    begun.side = approach_.side;
    begun.most = rule_.most;
    if (!begun.climbing) return;
    begun.first_step = std::ldexp(power_of_two_below(begun.scale), -rule_.first);
    begun.most += finer_levels(rule_, begun.scale, coordinates_->argument(r));
  });
}

double Climb::step_size(const Row& row, int level) const {
  return std::ldexp(row.first_step * unevenness(level), -level);
}

Ladder::Sides Climb::sides_of(const Row& row) const {
  if (row.side == 0) return Ladder::Sides::kBoth;
  return row.side == approach_.side ? Ladder::Sides::kOne : Ladder::Sides::kEdge;
}

Ladder::Steps Climb::steps_of(std::int64_t r, int level) const {
  const Row& row = rows_[static_cast<std::size_t>(r)];
  const double h = step_size(row, level);
  if (row.side != 0) return {coordinates_->step(r, row.side * h), 0, h};
  return {coordinates_->step(r, h), -coordinates_->step(r, -h), h};
}

bool Climb::can_step(std::int64_t r, int level) const {
  const int side = rows_[static_cast<std::size_t>(r)].side;
  const Ladder::Steps steps = steps_of(r, level);
  return side != 0 ? side * steps.plus > 0 : steps.plus > 0 && steps.minus > 0;
}

template <class F>
void Climb::for_each_row(const F& f) {
  const auto rows = static_cast<std::int64_t>(rows_.size());
  parallel_for(rows, grain_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) f(r);
  });
}

template <class F>
void Climb::for_each_live(const F& f) {
  const auto count = static_cast<std::int64_t>(live_.size());
  parallel_for(count, grain_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(live_[static_cast<std::size_t>(i)]);
  });
}

template <class Is>
bool Climb::select(const Is& is) {
  for_each_row(
      [&](std::int64_t r) { chosen_[static_cast<std::size_t>(r)] = is(row(r), r) ? 1 : 0; });
  live_.clear();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (chosen_[r] != 0) live_.push_back(static_cast<std::int64_t>(r));
  }
  return !live_.empty();
}

template <class Offset>
void Climb::evaluate(Ladder::Field field, const Offset& offset) {
  const RestoreAtEnd restore(*coordinates_);
  for_each_live([&](std::int64_t r) { coordinates_->move(r, offset(row(r), r)); });
  ++evaluations_;
  try {
    outputs_.run();
  } catch (const std::exception& exception) {
    for (const std::int64_t r : live_) row(r).finite = false;
    if (!failure_) {
      failure_ = exception.what();
      failure_position_ = first_position_;
    }
    return;
  }
  for_each_live([&](std::int64_t r) {
    Row& moved_row = row(r);
    if (moved_row.climbing) {
      const std::int64_t end = moved_.end(r);
      moved_.find(r);
      if (moved_.end(r) > end) join(r, end, moved_.end(r));
    }
    moved_row.reach = std::max(moved_row.reach, std::abs(offset(moved_row, r)));
    if (!moved_.gather(r, ladder_.field(field))) moved_row.finite = false;
  });
}

// Outputs that move only now have stood still on all levels before.
void Climb::join(std::int64_t r, std::int64_t begin, std::int64_t end) {
  if (end > ladder_.slots()) ladder_.reserve(std::max(end, 2 * ladder_.slots()));
  const std::vector<double>& noise = question_.noise;
  for (std::int64_t s = begin; s < end; ++s) {
    const auto output = static_cast<std::size_t>(moved_.output(s));
    ladder_.field(Ladder::kMiddle)[s] = outputs_.base()[output];
    ladder_.field(Ladder::kFloor)[s] = noise.empty() ? 0 : noise[output];
  }
  ladder_.clear(begin, end);
  const Row& joined = row(r);
  Ladder::Progress progress;
  for (int level = 0; level < joined.level; ++level) {
    if ((joined.dropped >> level & 1u) != 0) {
      progress = ladder_.drop(begin, end, progress);
    } else {
      progress = ladder_.advance(begin, end, progress, steps_of(r, level),
                                 coordinates_->argument(r), sides_of(joined));
    }
  }
}

void Climb::probe_for_absorption() {
  if (!select([](const Row& row, std::int64_t) { return row.climbing; })) return;
  const std::optional<std::string> failure = failure_;
  for (const double scales : {8.0, -8.0, 1.0, -1.0}) {
    evaluate(Ladder::kPlus, [&](const Row& row, std::int64_t) { return scales * row.scale; });
  }
  // So far away an edge of the domain means nothing.
  failure_ = failure;
}

// What a small step does not move must not be moved by the first one of a climb either. One that
// reaches across 0 is not small.
void Climb::look_once() {
  for_each_row([&](std::int64_t r) {
    const double x = coordinates_->argument(r);
    Row& begun = row(r);
    if (x > 0 && x < step_size(begun, kBalancedLevel)) begun.climbing = false;
    begun.lost = !begun.climbing;
  });
  for (const int level : {kBalancedLevel, 0}) {
    const bool any = select([&](Row& row, std::int64_t r) {
      return row.climbing && moved_.count(r) == 0 && can_step(r, level);
    });
    if (!any) return;
    evaluate(Ladder::kPlus, [&](const Row& row, std::int64_t) { return step_size(row, level); });
    evaluate(Ladder::kMinus, [&](const Row& row, std::int64_t) { return -step_size(row, level); });
    for_each_live([&](std::int64_t r) {
      Row& looked_at = row(r);
      const bool is_known = level == kBalancedLevel || moved_.count(r) == 0;
      looked_at.climbing = looked_at.finite && is_known;
      looked_at.lost = !looked_at.climbing;
    });
  }
}

void Climb::climb_both_sides() {
  const int traced = levels_ == nullptr ? 0 : std::min(kTracedLevels, rule_.most);
  for (int level = 0; level < rule_.most + kFiner; ++level) {
    const bool any = select([&](Row& row, std::int64_t r) {
      if (level >= row.most) row.climbing = false;
      if (!row.climbing && (row.lost || row.side != 0 || level >= traced)) return false;
      row.finite = true;
      if (can_step(r, level)) return true;
      row.climbing = false;
      return false;
    });
    if (!any) return;
    evaluate(Ladder::kPlus, [&](const Row& row, std::int64_t) { return step_size(row, level); });
    const auto is_finite = [&](std::int64_t r) { return row(r).finite; };
    if (std::any_of(live_.begin(), live_.end(), is_finite)) {
      evaluate(Ladder::kMinus,
               [&](const Row& row, std::int64_t) { return -step_size(row, level); });
    }
    if (levels_ != nullptr && row(0).finite) {
      levels_->push_back(trace_level(ladder_, rule_, moved_, outputs_, question_.cotangents.front(),
                                     steps_of(0, level), coordinates_->argument(0)));
    }
    for_each_live([&](std::int64_t r) {
      if (row(r).climbing) finish_level(r);
    });
    if (level == 0) find_edges();
  }
}

// Where the first level fell, the smallest step tells whether there is a domain on both sides.
void Climb::find_edges() {
  const auto finest = [&](std::int64_t r) {
    int level = row(r).most - 1;
    while (level > 0 && !can_step(r, level)) --level;
    return step_size(row(r), level);
  };
  const bool any =
      select([](const Row& row, std::int64_t) { return row.climbing && row.dropped != 0; });
  if (!any) return;
  for (const int side : {1, -1}) {
    for (const std::int64_t r : live_) row(r).finite = true;
    evaluate(Ladder::kPlus, [&](const Row&, std::int64_t r) { return side * finest(r); });
    for (const std::int64_t r : live_) {
      if (row(r).finite) row(r).side += side;
      row(r).lost = row(r).lost || !row(r).finite;
    }
  }
  for (const std::int64_t r : live_) {
    // Lost on one side and found on the other: one side only. Found on both: climb on.
    if (!row(r).lost) continue;
    row(r).climbing = false;
    row(r).lost = row(r).side == 0;
  }
}

void Climb::climb_one_side() {
  const bool is_needed =
      select([](const Row& row, std::int64_t) { return row.side != 0 && !row.lost; });
  if (!is_needed) return;
  for (const std::int64_t r : live_) {
    Row& start = row(r);
    start.climbing = true;
    start.level = 0;
    start.dropped = 0;
    start.progress = {};
    ladder_.clear(moved_.begin(r), moved_.end(r));
  }
  for (int level = 0; level < rule_.most + kFiner; ++level) {
    const bool any = select([&](Row& row, std::int64_t r) {
      row.finite = true;
      row.climbing = row.climbing && row.side != 0 && level < row.most && can_step(r, level);
      return row.climbing;
    });
    if (!any) return;
    evaluate(Ladder::kPlus,
             [&](const Row& row, std::int64_t) { return row.side * step_size(row, level); });
    for_each_live([&](std::int64_t r) { finish_level(r); });
  }
}

void Climb::finish_level(std::int64_t r) {
  Row& now = row(r);
  const std::int64_t begin = moved_.begin(r);
  const std::int64_t end = moved_.end(r);
  if (now.finite) {
    now.progress = ladder_.advance(begin, end, now.progress, steps_of(r, now.level),
                                   coordinates_->argument(r), sides_of(now));
  } else {
    now.dropped |= 1u << now.level;
    now.progress = ladder_.drop(begin, end, now.progress);
  }
  ++now.level;
  now.climbing = !is_done(r);
}

bool Climb::is_done(std::int64_t r) {
  Row& now = row(r);
  const bool one_sided = now.side != 0;
  if (now.progress.since < Ladder::settled_levels(one_sided)) return false;
  const Ladder::Standing standing = ladder_.standing(moved_.begin(r), moved_.end(r), one_sided);
  const double error_before = std::exchange(now.error, standing.largest_error);
  if (!standing.settled || !standing.calm) return false;
  if (moved_.count(r) == 0) return true;
  if (approach_.to_the_end) return false;
  if (!std::isfinite(standing.largest_error)) return false;
  constexpr double kImproves = 0.5;
  const bool improves = standing.largest_error < kImproves * error_before;
  if (now.progress.since >= rule_.enough && !improves) return true;
  constexpr double kLeast = 1e-300;
  return rule_.target > 0 && standing.resolved &&
         standing.largest_error <= rule_.target * std::max(standing.largest_value, kLeast);
}

void Climb::write(std::int64_t r, std::int64_t position, Derivatives& to) {
  const Row& ended = row(r);
  if (approach_.once) {
    if (ended.lost) {
      write_no_derivative(position, to);
      return;
    }
    ladder_.take_one(moved_.begin(r), moved_.end(r), steps_of(r, kBalancedLevel),
                     coordinates_->argument(r));
    project(ladder_, moved_, r, question_, position, to);
    return;
  }
  const bool one_sided = ended.side != 0;
  const bool unsettled =
      one_sided && !ladder_.standing(moved_.begin(r), moved_.end(r), true).settled;
  if (ended.lost || ended.progress.levels == 0 || unsettled) {
    write_no_derivative(position, to);
    return;
  }
  to.flags[static_cast<std::size_t>(position)] =
      settle_slots(ladder_, moved_.begin(r), moved_.end(r), ended.progress, one_sided);
  project(ladder_, moved_, r, question_, position, to);
  if (rule_.absorbs) {
    add_absorption(moved_, outputs_.base(), r, question_, 2 * rule_.unit / ended.reach, position,
                   to, *absorbed_);
  }
}

}  // namespace fluidcore::gradcheck
