#include "fluidcore/gradcheck/difference/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/difference/divided_differences.h"
#include "fluidcore/gradcheck/function/outputs.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kLines = 11;
constexpr int kNarrowing = 3;  // log2 of how much shorter each line is than the one before
// log2 of the distance of two points on long lines, beside x.
constexpr std::array kLong = {-6, -14, -10, -8, -4};
constexpr int kApart = 4;              // log2 of how much longer one line is than another, at least
constexpr double kSameNoise = 3;       // the ratio of two measurements of it
constexpr int kUnevenBits = 12;        // of a place on a line: the points stay exact
constexpr std::ptrdiff_t kAlike = 16;  // outputs of about one size,
constexpr double kAlikeSizes = 1024;   // the largest beside the smallest

// Plus or minus a power of two for every element, about `part` times its size: few multiples of it
// change any other digit. The size is |x|, and that of the whole tensor where x is 0.
std::vector<double> line_through(const Tensor& input,
                                 const std::vector<double>& signs,
                                 double part) {
  const double rms = root_mean_square(input);
  std::vector<double> line(static_cast<std::size_t>(input.size()));
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double x = std::abs(input.get_float_element(static_cast<std::int64_t>(i)));
    if (!std::isfinite(x)) continue;
    const double size = x == 0 ? rms : x;
    line[i] = signs[i] * power_of_two_below(size * part);
  }
  return line;
}

std::vector<double> random_signs(std::int64_t size, std::mt19937_64& random) {
  std::vector<double> signs(static_cast<std::size_t>(size));
  for (double& sign : signs) sign = (random() >> 63) != 0 ? 1 : -1;
  return signs;
}

// Every output on a line; none where f throws.
std::vector<DividedDifferences> differences_on(Function& function,
                                               Outputs& outputs,
                                               Directions lines,
                                               const DividedDifferences::Places& places,
                                               std::int64_t& evaluations) {
  Direction line(function.inputs(), std::move(lines));
  std::vector<DividedDifferences> differences(static_cast<std::size_t>(outputs.size()));
  for (int point = 0; point < DividedDifferences::kPoints; ++point) {
    const RestoreAtEnd restore(line);
    const DividedDifferences::Lengths lengths = DividedDifferences::lengths(places, point);
    line.move(0, places[static_cast<std::size_t>(point)]);
    ++evaluations;
    try {
      outputs.run();
    } catch (const std::exception&) {
      return {};
    }
    for (const Outputs::Part& part : outputs.parts()) {
      DividedDifferences* const of_part = differences.data() + part.offset;
      for (std::int64_t j = 0; j < part.size; ++j)
        of_part[j].add(part.values[j], point, places, lengths);
    }
  }
  return differences;
}

// log2 of how much shorter a line is than the first.
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

  // Nothing but these elements moves from now on.
  void move_only(std::size_t input, const std::vector<std::int64_t>& elements) {
    std::vector<double> signs(signs_[input].size());
    for (const std::int64_t i : elements)
      signs[static_cast<std::size_t>(i)] = signs_[input][static_cast<std::size_t>(i)];
    for (std::vector<double>& others : signs_) others.clear();
    signs_[input] = std::move(signs);
  }

  // Every output on a line that is `narrower` than u^(3/8), as log2; none where f throws.
  std::vector<DividedDifferences> look(Outputs& outputs, int narrower) {
    Directions lines;
    for (std::size_t k = 0; k < function_.inputs().size(); ++k) {
      const Tensor& input = function_.inputs()[k];
      lines.emplace_back();
      if (signs_[k].empty()) continue;
      const double part = std::ldexp(spacing(input.dtype()), -narrower);
      lines.back() = line_through(input, signs_[k], part);
    }
    // The shorter the line, the less room there is between its points.
    const int bits = std::max(kUnevenBits - narrower, 0);
    return differences_on(function_, outputs, std::move(lines),
                          DividedDifferences::random_places(random_, bits), evaluations_);
  }

  static double spacing(DType dtype) { return std::pow(unit_roundoff(dtype), 0.375); }

 private:
  Function& function_;
  std::mt19937_64 random_;
  std::int64_t& evaluations_;
  std::vector<std::vector<double>> signs_;  // 1 or -1 for each element that moves; none for others
};

// The noise of every output on some lines, and the outputs that show none because they stand still.
struct OnLines {
  std::vector<double> noise;
  std::vector<std::size_t> still;
};

// On lines that are much longer. Only noise is the same on two of them; 0 where it is not.
OnLines on_long_lines(Lines& lines, Outputs& outputs) {
  const DType coarsest = outputs.coarsest();
  const int usual = std::ilogb(Lines::spacing(coarsest));
  OnLines all{std::vector<double>(static_cast<std::size_t>(outputs.size())), {}};
  std::vector<std::pair<int, std::vector<double>>> known;
  bool is_noisy = false;
  for (const int spacing : kLong) {
    if (spacing <= usual) continue;
    const auto found = lines.look(outputs, usual - spacing);
    std::vector<double> noise(found.size());
    for (std::size_t j = 0; j < found.size(); ++j) {
      if (found[j].is_level()) noise[j] = found[j].noise(unit_roundoff(coarsest));
      if (known.empty() && found[j].is_still()) all.still.push_back(j);
      for (const auto& [other, before] : known) {
        if (std::abs(other - spacing) < kApart || before.empty()) continue;
        const auto [less, more] = std::minmax(noise[j], before[j]);
        if (more <= kSameNoise * less) all.noise[j] = std::max(all.noise[j], more);
      }
    }
    is_noisy |= std::any_of(noise.begin(), noise.end(), [](double n) { return n > 0; });
    known.emplace_back(spacing, std::move(noise));
    if (known.size() == 2 && !is_noisy) break;
  }
  return all;
}

// The noise, and the outputs that stand still on the first line: they show none there.
struct Measured {
  NoiseLevel noise;
  std::vector<std::size_t> still;
};

Measured noise_of(Function& function,
                  Outputs& outputs,
                  std::uint64_t seed,
                  std::int64_t& evaluations) {
  Lines lines(function, seed, evaluations);
  const double unit = unit_roundoff(outputs.coarsest());
  const auto size = static_cast<std::size_t>(outputs.size());
  std::vector<double> noise(size, std::numeric_limits<double>::infinity());
  std::vector<double> far(size);
  std::vector<std::size_t> still;
  std::vector<std::size_t> doubtful(size);
  std::iota(doubtful.begin(), doubtful.end(), std::size_t{0});
  for (int line = 0; line < kLines && !doubtful.empty(); ++line) {
    const auto found = lines.look(outputs, narrowing(line));
    if (found.empty()) continue;
    for (std::size_t j = 0; narrowing(line) == 0 && j < size; ++j) {
      if (found[j].is_level()) far[j] = std::max(far[j], found[j].noise(unit));
      if (line == 0 && found[j].is_still()) still.push_back(j);
    }
    std::erase_if(doubtful, [&](std::size_t j) {
      const DividedDifferences& of_output = found[j];
      if (line > 0 && !of_output.is_telling()) return std::isfinite(noise[j]);
      noise[j] = std::min(noise[j], of_output.noise(unit));
      return !of_output.is_doubtful(unit);
    });
  }
  if (!still.empty()) {
    const std::vector<double> longer = on_long_lines(lines, outputs).noise;
    for (const std::size_t j : still) far[j] = std::max(far[j], longer[j]);
  }
  for (std::size_t j = 0; j < size; ++j) {
    if (!std::isfinite(noise[j])) noise[j] = 0;
    far[j] = std::max(far[j], noise[j]);
  }
  return {{std::move(noise), std::move(far)}, std::move(still)};
}

// Few differences may show too little of a noise: it counts as no less than the median of that of
// the outputs of the same tensor that are nearest in size, and do not stand still.
void raise_to_the_usual(const Outputs& outputs,
                        const std::vector<std::size_t>& still,
                        std::vector<double>& noise) {
  const auto moves = [&](std::int64_t j) {
    return !std::binary_search(still.begin(), still.end(), static_cast<std::size_t>(j));
  };
  const auto size_of = [y = outputs.base()](std::int64_t j) {
    return std::isnan(y[j]) ? std::numeric_limits<double>::infinity() : std::abs(y[j]);
  };
  for (const Outputs::Part& part : outputs.parts()) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(part.size));
    std::iota(order.begin(), order.end(), part.offset);
    std::sort(order.begin(), order.end(),
              [&](std::int64_t a, std::int64_t b) { return size_of(a) < size_of(b); });
    auto end = order.begin();
    while (end != order.end()) {
      const auto begin = end;
      const std::ptrdiff_t left = order.end() - begin;
      end = begin + (left < 2 * kAlike ? left : kAlike);
      end = std::upper_bound(begin, end, kAlikeSizes * size_of(*begin),
                             [&](double size, std::int64_t j) { return size < size_of(j); });
      const auto of = [&](std::int64_t j) -> double& { return noise[static_cast<std::size_t>(j)]; };
      const auto moving = std::partition(begin, end, moves);
      const auto middle = begin + (moving - begin) / 2;
      if (middle == moving) continue;
      std::nth_element(begin, middle, moving,
                       [&](std::int64_t a, std::int64_t b) { return of(a) < of(b); });
      const double usual = of(*middle);
      std::for_each(begin, end, [&](std::int64_t j) { of(j) = std::max(of(j), usual); });
    }
  }
}

// What error bars must allow for; none where they allow for the noise of every output anyway.
void make_floor(const Outputs& outputs,
                const std::vector<std::size_t>& still,
                std::vector<double>& noise) {
  const double unit = unit_roundoff(outputs.coarsest());
  const auto is_needed = [&](std::size_t j) {
    return !is_rounding(noise[j], std::abs(outputs.base()[j]), unit);
  };
  std::size_t first = 0;
  while (first < noise.size() && !is_needed(first)) ++first;
  if (first == noise.size()) {
    noise.clear();
    return;
  }
  raise_to_the_usual(outputs, still, noise);
  for (std::size_t j = 0; j < noise.size(); ++j)
    noise[j] = is_needed(j) ? kDeviations * noise[j] : 0;
}

}  // namespace

NoiseLevel NoiseLevel::at_least(const std::vector<double>& least) const {
  NoiseLevel level = *this;
  if (least.empty()) return level;
  if (level.near.empty()) level.near.resize(least.size());
  for (std::vector<double>* part : {&level.near, &level.far}) {
    require(part->empty() || part->size() == least.size(), "gradcheck: the noise must have ",
            part->size(), " numbers, as the outputs, got ", least.size());
    for (std::size_t j = 0; j < part->size(); ++j) (*part)[j] = std::max((*part)[j], least[j]);
  }
  return level;
}

NoiseLevel measure_noise(Function& function, std::uint64_t seed, std::int64_t* evaluations) {
  std::int64_t count = 1;  // at the point itself
  NoiseLevel noise = with_plain_exceptions([&] {
    Outputs outputs(function);
    return noise_of(function, outputs, seed, count).noise;
  });
  if (evaluations != nullptr) *evaluations += count;
  return noise;
}

std::vector<double> noise_of_treads(Function& function,
                                    std::size_t input,
                                    const std::vector<std::int64_t>& elements,
                                    std::uint64_t seed,
                                    std::int64_t& evaluations) {
  return with_plain_exceptions([&] {
    Outputs outputs(function);
    ++evaluations;
    Lines lines(function, seed, evaluations);
    lines.move_only(input, elements);
    OnLines found = on_long_lines(lines, outputs);
    make_floor(outputs, found.still, found.noise);
    return found.noise;
  });
}

NoiseLevel noise_floor(Function& function, std::uint64_t seed, std::int64_t* evaluations) {
  const std::vector<Tensor>& inputs = function.inputs();
  const auto is_coarse = [](const Tensor& input) {
    constexpr double kCoarse = 0x1p-20;
    return is_floating(input.dtype()) && unit_roundoff(input.dtype()) > kCoarse;
  };
  if (std::any_of(inputs.begin(), inputs.end(), is_coarse)) return {};
  std::int64_t count = 1;  // at the point itself
  NoiseLevel floor = with_plain_exceptions([&] {
    Outputs outputs(function);
    Measured found = noise_of(function, outputs, seed, count);
    make_floor(outputs, found.still, found.noise.near);
    make_floor(outputs, found.still, found.noise.far);
    return found.noise;
  });
  if (floor.far == floor.near) floor.far.clear();
  if (evaluations != nullptr) *evaluations += count;
  return floor;
}

}  // namespace fluidcore::gradcheck
