#include "fluidcore/gradcheck/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "fluidcore/gradcheck/along.h"
#include "fluidcore/gradcheck/direction.h"
#include "fluidcore/gradcheck/ladder.h"
#include "fluidcore/gradcheck/outputs.h"
#include "fluidcore/gradcheck/rounding.h"
#include "fluidcore/gradcheck/unrecoverable.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kPoints = 14;
constexpr int kOrder = 6;
constexpr int kLowest = 4;    // order of which the noise must be the same
constexpr double kLevel = 4;  // up to this factor
constexpr int kLines = 11;
constexpr int kNarrowing = 3;     // log2 of how much shorter each narrow line is than the last one
constexpr int kWidening = 6;      // and longer, where an output stands still
constexpr int kWidest = -6;       // log2 of the distance of two points, beside x
constexpr double kUneven = 0.25;  // of the distance of two points: how far each is off
constexpr int kUnevenBits = 12;   // of that, on the wide line: the points stay exact
// Of an output: less is the rounding of the differences. On the short line of a float64 f they lose
// less than the last digit of an output.
constexpr double kOwn = 0x1p-44;
constexpr double kOwnOfDouble = 0x1p-55;

using Places = std::array<double, kPoints>;  // of the points, in steps from x

// Uneven, for roundings inside of f must not repeat from point to point: a grid of them, as that of
// sin(x) + 1000, may be in step with even points, which then show nothing. `narrower` is log2 of
// how much shorter the line is than the wide one: there is less room between its points.
Places random_places(std::mt19937_64& random, int narrower) {
  const double grid = std::ldexp(1.0, -std::max(kUnevenBits - narrower, 0));
  Places places{};
  for (int point = 0; point < kPoints; ++point) {
    const double part = 2 * std::ldexp(static_cast<double>(random() >> 11), -53) - 1;
    const double off = grid * std::nearbyint(kUneven * part / grid);
    places[static_cast<std::size_t>(point)] = point + 1 + off;  // to one side: x may be a kink
  }
  return places;
}

// Plus or minus a power of two for every element, about `part` times its size: few multiples of it
// change any other digit. The size is |x|, and that of the whole tensor where that is larger, or
// where x is 0.
std::vector<double> line_through(const Tensor& input,
                                 const std::vector<bool>& signs,
                                 bool is_wide,
                                 double part) {
  const double rms = root_mean_square(input);
  std::vector<double> line(static_cast<std::size_t>(input.size()));
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double x = std::abs(input.get_float_element(static_cast<std::int64_t>(i)));
    if (!std::isfinite(x)) continue;
    const double size = x == 0 || (is_wide && x < rms) ? rms : x;
    const double step = power_of_two_below(size * part);
    line[i] = signs[i] ? step : -step;
  }
  return line;
}

std::vector<bool> random_signs(std::int64_t size, std::mt19937_64& random) {
  std::vector<bool> signs(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = (random() >> 63) != 0;
  return signs;
}

// The lengths of the weights of the divided differences that end at a point, by order: their
// standard deviations for independent numbers.
using Lengths = std::array<double, kOrder + 1>;

Lengths lengths_of_weights(const Places& places, int end) {
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

// The divided differences of one order.
struct OfOrder {
  double squares = 0;  // in units of their lengths
  double least = 0;
  double greatest = 0;

  void add(double difference, double length) {
    squares += difference * difference / (length * length);
    least = std::min(least, difference);
    greatest = std::max(greatest, difference);
  }
  double noise(int order) const { return std::sqrt(squares / (kPoints - order)); }
  bool changes_sign() const { return least < 0 && greatest > 0; }
};

// One output on a line, and the divided differences of it as its values come in.
struct Differences {
  std::array<double, kOrder + 1> last{};  // of order 0, 1, …
  std::array<OfOrder, kOrder - kLowest + 1> orders{};
  double largest = 0;
  int moves = 0;  // points whose value is not that of the point before

  void add(double value, int point, const Places& places, const Lengths& lengths) {
    largest = std::max(largest, std::abs(value));
    if (point > 0 && value != last[0]) ++moves;
    for (int order = 0;; ++order) {
      const auto at = static_cast<std::size_t>(order);
      const double before = std::exchange(last[at], value);
      if (order >= kLowest) orders[at - kLowest].add(value, lengths[at]);
      if (order == kOrder || order == point) return;
      value = (value - before) / (places[static_cast<std::size_t>(point)] -
                                  places[static_cast<std::size_t>(point - order - 1)]);
    }
  }

  double noise(double unit) const {
    const double found = orders.back().noise(kOrder);
    const double own = unit > 0x1p-50 ? kOwn : kOwnOfDouble;
    return std::isfinite(found) && found <= own * largest ? 0 : found;
  }
  // Whether that is no change of f itself.
  bool is_level() const {
    double least = std::numeric_limits<double>::infinity();
    double greatest = 0;
    int order = kLowest;
    for (const OfOrder& one : orders) {
      const double noise = one.noise(order++);
      if (!std::isfinite(noise) || !one.changes_sign()) return false;
      least = std::min(least, noise);
      greatest = std::max(greatest, noise);
    }
    return greatest <= kLevel * least;
  }
  // What takes half of the digits is no rounding: f itself is rough on the line, or has an edge.
  bool is_doubtful(double unit) const {
    return !std::isfinite(noise(unit)) || noise(unit) > std::sqrt(unit) * largest;
  }
  // Roundings of a value that hardly changes have something in common.
  bool is_still() const { return 2 * moves <= kPoints; }
  bool is_telling() const { return std::isfinite(orders.back().squares) && !is_still(); }
};

// Every output on a line; none where f throws.
std::vector<Differences> differences_on(Function& function,
                                        Outputs& outputs,
                                        Directions lines,
                                        const Places& places,
                                        std::int64_t& evaluations) {
  Direction line(function.inputs(), std::move(lines));
  std::vector<Differences> differences(static_cast<std::size_t>(outputs.size()));
  for (int point = 0; point < kPoints; ++point) {
    const RestoreAtEnd restore(line);
    const auto at = static_cast<std::size_t>(point);
    const Lengths lengths = lengths_of_weights(places, point);
    line.move(0, places[at]);
    ++evaluations;
    try {
      outputs.run();
    } catch (const std::exception&) {
      return {};
    }
    for (const Outputs::Part& part : outputs.parts()) {
      Differences* const of_part = differences.data() + part.offset;
      for (std::int64_t j = 0; j < part.size; ++j)
        of_part[j].add(part.values[j], point, places, lengths);
    }
  }
  return differences;
}

// log2 of how much shorter a line is than the first of the narrow ones.
int narrowing(int line) {
  return std::max(line - 1, 0) * kNarrowing;
}

// The lines through the point of a function.
class Lines {
 public:
  Lines(Function& function, std::uint64_t seed, std::int64_t& evaluations)
      : function_(function), random_(seed), evaluations_(evaluations) {
    for (const Tensor& input : function.inputs()) {
      const std::int64_t size = is_floating(input.dtype()) ? input.size() : 0;
      signs_.push_back(random_signs(size, random_));
    }
  }

  // Every output on a line that is `narrower` than u^(3/8), as log2; none where f throws.
  std::vector<Differences> look(Outputs& outputs, bool is_wide, int narrower) {
    Directions lines;
    for (std::size_t k = 0; k < function_.inputs().size(); ++k) {
      const Tensor& input = function_.inputs()[k];
      lines.emplace_back();
      if (!is_floating(input.dtype())) continue;
      const double part = std::ldexp(spacing(input.dtype()), -narrower);
      lines.back() = line_through(input, signs_[k], is_wide, part);
    }
    return differences_on(function_, outputs, std::move(lines), random_places(random_, narrower),
                          evaluations_);
  }

  static double spacing(DType dtype) { return std::pow(unit_roundoff(dtype), 0.375); }

 private:
  Function& function_;
  std::mt19937_64 random_;
  std::int64_t& evaluations_;
  std::vector<std::vector<bool>> signs_;
};

NoiseLevel noise_of(Function& function, std::uint64_t seed, std::int64_t& evaluations) {
  Lines lines(function, seed, evaluations);
  Outputs outputs(function);
  const double unit = unit_roundoff(outputs.coarsest());
  const auto size = static_cast<std::size_t>(outputs.size());
  std::vector<double> noise(size, std::numeric_limits<double>::infinity());
  std::vector<double> far(size);
  std::vector<std::size_t> still;
  std::vector<std::size_t> doubtful(size);
  std::iota(doubtful.begin(), doubtful.end(), std::size_t{0});
  for (int line = 0; line < kLines && !doubtful.empty(); ++line) {
    const std::vector<Differences> found = lines.look(outputs, line == 0, narrowing(line));
    if (found.empty()) continue;
    for (std::size_t j = 0; narrowing(line) == 0 && j < size; ++j) {
      if (found[j].is_level()) far[j] = std::max(far[j], found[j].noise(unit));
      if (line == 0 && found[j].is_still()) still.push_back(j);
    }
    std::erase_if(doubtful, [&](std::size_t j) {
      const Differences& of_output = found[j];
      if (line > 0 && !of_output.is_telling()) return std::isfinite(noise[j]);
      noise[j] = std::min(noise[j], of_output.noise(unit));
      return !of_output.is_doubtful(unit);
    });
  }
  const int widest = kWidest - std::ilogb(Lines::spacing(outputs.coarsest()));
  for (int wider = kWidening; wider <= widest && !still.empty(); wider += kWidening) {
    const std::vector<Differences> found = lines.look(outputs, false, -wider);
    if (found.empty()) break;
    std::erase_if(still, [&](std::size_t j) {
      if (found[j].is_level()) far[j] = std::max(far[j], found[j].noise(unit));
      return !found[j].is_still();
    });
  }
  for (std::size_t j = 0; j < size; ++j) {
    if (!std::isfinite(noise[j])) noise[j] = 0;
    far[j] = std::max(far[j], noise[j]);
  }
  return {std::move(noise), std::move(far)};
}

}  // namespace

NoiseLevel measure_noise(Function& function, std::uint64_t seed, std::int64_t* evaluations) {
  std::int64_t count = 1;  // at the point itself
  NoiseLevel noise = with_plain_exceptions([&] { return noise_of(function, seed, count); });
  if (evaluations != nullptr) *evaluations += count;
  return noise;
}

NoiseLevel noise_floor(Function& function, std::uint64_t seed, std::int64_t* evaluations) {
  constexpr double kDeviations = 3;
  const std::vector<Tensor>& inputs = function.inputs();
  const auto is_coarse = [](const Tensor& input) {
    constexpr double kCoarse = 0x1p-20;
    return is_floating(input.dtype()) && unit_roundoff(input.dtype()) > kCoarse;
  };
  if (std::any_of(inputs.begin(), inputs.end(), is_coarse)) return {};
  if (evaluations != nullptr) ++*evaluations;
  NoiseLevel floor = measure_noise(function, seed, evaluations);
  const Outputs outputs(function);
  const double unit = unit_roundoff(outputs.coarsest());
  for (auto* const level : {&floor.near, &floor.far}) {
    bool is_needed = false;
    for (std::size_t j = 0; j < level->size(); ++j) {
      double& noise = (*level)[j];
      noise *= kDeviations;
      const double size = std::abs(outputs.base()[j]);
      if (noise <= Ladder::rounding_error({.unit = unit}, size, 0, 0)) noise = 0;
      is_needed |= noise != 0;
    }
    if (!is_needed) level->clear();
  }
  return floor;
}

}  // namespace fluidcore::gradcheck
