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
#include "fluidcore/gradcheck/differentiate.h"
#include "fluidcore/gradcheck/direction.h"
#include "fluidcore/gradcheck/outputs.h"
#include "fluidcore/gradcheck/rounding.h"
#include "fluidcore/gradcheck/unrecoverable.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kPoints = 14;
constexpr int kOrder = 6;
constexpr int kLines = 6;
constexpr int kNarrowing = 3;      // log2 of how much shorter each narrow line is than the last one
constexpr double kVariance = 924;  // of a sixth difference of independent numbers: (12 over 6)

// Plus or minus a power of two for every element, about `part` times its size: multiples of it
// change no other digit. The size is |x|, and that of the whole tensor where that is larger, or
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

// One output on a line, and the sixth differences of it as its values come in.
struct Differences {
  std::array<double, kOrder + 1> last{};  // of order 0, 1, …
  double squares = 0;
  double largest = 0;
  int moves = 0;  // points whose value is not that of the point before

  void add(double value, int point) {
    largest = std::max(largest, std::abs(value));
    if (point > 0 && value != last[0]) ++moves;
    for (int order = 0; order <= kOrder; ++order) {
      const double before = last[static_cast<std::size_t>(order)];
      last[static_cast<std::size_t>(order)] = value;
      if (order == kOrder) break;
      if (order == point) return;
      value -= before;
    }
    squares += value * value;
  }

  double noise() const { return std::sqrt(squares / (kPoints - kOrder) / kVariance); }
  // What takes half of the digits is no rounding: f itself is rough on the line, or has an edge.
  bool is_doubtful(double unit) const {
    return !std::isfinite(noise()) || noise() > std::sqrt(unit) * largest;
  }
  // Roundings of a value that hardly changes have something in common.
  bool is_telling() const { return std::isfinite(noise()) && 2 * moves > kPoints; }
};

// Every output on a line; none where f throws.
std::vector<Differences> differences_on(Function& function, Outputs& outputs, Directions lines) {
  Direction line(function.inputs(), std::move(lines));
  std::vector<Differences> differences(static_cast<std::size_t>(outputs.size()));
  for (int point = 0; point < kPoints; ++point) {
    const RestoreAtEnd restore(line);
    line.move(0, point - kPoints / 2);
    try {
      outputs.run();
    } catch (const std::exception&) {
      return {};
    }
    for (const Outputs::Part& part : outputs.parts()) {
      Differences* const of_part = differences.data() + part.offset;
      for (std::int64_t j = 0; j < part.size; ++j) of_part[j].add(part.values[j], point);
    }
  }
  return differences;
}

// The first line is wide, the others are narrower and narrower.
Directions lines_of(const Function& function,
                    const std::vector<std::vector<bool>>& signs,
                    int line) {
  Directions lines;
  for (std::size_t k = 0; k < function.inputs().size(); ++k) {
    const Tensor& input = function.inputs()[k];
    lines.emplace_back();
    if (!is_floating(input.dtype())) continue;
    const double part = std::pow(unit_roundoff(input.dtype()), 0.375);
    const int narrower = std::max(line - 1, 0) * kNarrowing;
    lines.back() = line_through(input, signs[k], line == 0, std::ldexp(part, -narrower));
  }
  return lines;
}

std::vector<double> noise_of(Function& function, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<bool>> signs;
  for (const Tensor& input : function.inputs()) {
    const std::int64_t size = is_floating(input.dtype()) ? input.size() : 0;
    signs.push_back(random_signs(size, random));
  }
  Outputs outputs(function);
  const double unit = unit_roundoff(outputs.coarsest());
  const auto size = static_cast<std::size_t>(outputs.size());
  std::vector<double> noise(size, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> doubtful(size);
  std::iota(doubtful.begin(), doubtful.end(), std::size_t{0});
  for (int line = 0; line < kLines && !doubtful.empty(); ++line) {
    const std::vector<Differences> found =
        differences_on(function, outputs, lines_of(function, signs, line));
    if (found.empty()) continue;
    std::erase_if(doubtful, [&](std::size_t j) {
      const Differences& of_output = found[j];
      if (line > 0 && !of_output.is_telling()) return std::isfinite(noise[j]);
      if (of_output.noise() < noise[j]) noise[j] = of_output.noise();
      return !of_output.is_doubtful(unit);
    });
  }
  for (double& value : noise) value = std::isfinite(value) ? value : 0;
  return noise;
}

}  // namespace

std::vector<double> measure_noise(Function& function, std::uint64_t seed) {
  return with_plain_exceptions([&] { return noise_of(function, seed); });
}

}  // namespace fluidcore::gradcheck
