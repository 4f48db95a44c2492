#include "fluidcore/gradcheck/verdict/cancellation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/infinity.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/elsewhere.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kGridPoints = 8;
constexpr int kGridSigns = 8;
constexpr double kGridRadius = 0x1p-6;  // of x, that the points are away
constexpr double kFinest = 0x1p14;      // x over the finest steps, and a factor of 2
constexpr double kLastDigits = 64;      // that terms may be rounded by

// The greatest power of two that a number is a multiple of; infinite for 0.
double last_digit(double value) {
  if (value == 0) return kInfinity;
  int exponent = 0;
  auto whole = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  double last = 1;
  for (; (whole & 1) == 0; whole /= 2) last *= 2;
  return std::ldexp(last, exponent - 53);
}

// Of each output, over several runs.
struct Grid {
  std::vector<double> most;   // the largest values
  std::vector<double> terms;  // the same, and where the inputs have other signs
  std::vector<double> last;   // the last digit of all values
};

Grid grid_of(Formula& formula) {
  const std::vector<double>& y = formula.outputs;
  Grid grid;
  for (const double value : y) {
    grid.most.push_back(std::abs(value));
    grid.last.push_back(last_digit(value));
  }
  const auto run = [&](const char* purpose, int number, double (*move)(double, double)) {
    ++formula.evaluations;
    auto found = outputs_elsewhere(
        formula.f, at_random(formula.f, formula.seed, str_cat(purpose, " ", number), move),
        y.size());
    if (!found) return std::vector<double>();
    for (double& value : *found) value = std::isfinite(value) ? value : 0;
    return *std::move(found);
  };
  for (int point = 0; point < kGridPoints; ++point) {
    const auto values = run("grid", point, [](double x, double random) {
      return x * (1 + kGridRadius * (2 * random - 1));
    });
    for (std::size_t j = 0; j < values.size(); ++j) {
      grid.most[j] = std::max(grid.most[j], std::abs(values[j]));
      grid.last[j] = std::min(grid.last[j], last_digit(values[j]));
    }
  }
  grid.terms = grid.most;
  for (int sign = 0; sign < kGridSigns; ++sign) {
    const auto values = run("signs", sign, with_random_sign);
    for (std::size_t j = 0; j < values.size(); ++j) {
      grid.terms[j] = std::max(grid.terms[j], std::abs(values[j]));
    }
  }
  return grid;
}

// The rounding of each output, by the last digit of all of its values near x.
//
// Where that is more than a unit of them, larger terms have cancelled out; these show where the
// inputs have other signs. More than half of their digits are no rounding: a function that counts
// has that of any other.
std::vector<double> rounding_of(Formula& formula) {
  const Grid grid = grid_of(formula);
  const double roundoff = unit_roundoff(formula.dtype());
  std::vector<double> rounding;
  for (std::size_t j = 0; j < grid.last.size(); ++j) {
    const double usual = 2 * roundoff * grid.most[j];
    const double terms = 2 * roundoff * grid.terms[j];
    const double last = grid.last[j];
    const bool cancels = last > usual && last <= terms / std::sqrt(roundoff);
    rounding.push_back(std::isinf(last) ? terms
                       : cancels        ? std::clamp(terms, last, kLastDigits * last)
                                        : usual);
  }
  return rounding;
}

}  // namespace

void settle_cancellation(Formula& formula, const Look& look, Judgement& found) {
  if (formula.dtype() != DType::kFloat64) return;
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < found.wrong.size(); ++i) {
    if (found.unsure[i] || (found.wrong[i] && found.excess(i) > 1)) doubtful.push_back(i);
  }
  if (doubtful.empty() || formula.is_late()) return;
  const std::vector<double> rounding = rounding_of(formula);
  std::vector<double> sums;
  for (const std::vector<double>& v : formula.weights) {
    double sum = 0;
    for (std::size_t j = 0; j < v.size(); ++j) sum += std::abs(v[j]) * rounding[j];
    sums.push_back(sum);
  }
  const Tensor& x = formula.f.inputs()[look.input];
  const double usual = root_mean_square(x);
  for (const std::size_t i : doubtful) {
    const std::size_t column = i % look.elements.size();
    const double size = std::max(std::abs(x.get_float_element(look.elements[column])), usual);
    const double bar = formula.rules.bars * kFinest * sums[i / look.elements.size()] / size;
    const double limit = found.limit[i] + bar;
    if (!(std::abs(found.analytical[i] - found.nearest[i]) <= limit)) continue;
    found.limit[i] = limit;
    found.wrong[i] = 0;
    found.unsure[i] = 1;
  }
}

}  // namespace fluidcore::gradcheck
