#include "fluidcore/gradcheck/verdict/own_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kPairs = 6;
constexpr double kCertainDeviations = 4;
constexpr double kWidestDither = 0x1p-6;

// Each number with a random part of it, up to `size`, added or subtracted.
std::vector<Tensor> moved(const std::vector<Tensor>& tensors,
                          double size,
                          std::string_view name,
                          int pair,
                          std::uint64_t seed) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const RandomSequence random =
        random_sequence(seed, str_cat(name, k), str_cat("own rounding ", pair));
    Tensor x = tensors[k].clone();
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const double part = 2 * random.uniform<double>(static_cast<std::uint64_t>(i)) - 1;
      const double value = x.get_float_element(i) * (1 + size * part);
      x.set_float_element(i, round_to(x.dtype(), value));
    }
    result.push_back(std::move(x));
  }
  return result;
}

// NaN where the gradient is not defined.
std::vector<double> at(Gradient& gradient,
                       const std::vector<Tensor>& x,
                       const std::vector<Tensor>& v,
                       const OfGradients& numbers,
                       std::size_t count) {
  const std::vector<Tensor>* const found = gradients_at(gradient, x, v);
  return found == nullptr ? std::vector<double>(count, std::nan("")) : numbers(*found);
}

}  // namespace

std::vector<double> own_rounding(Gradient& gradient,
                                 const std::vector<Tensor>& v,
                                 const OfGradients& numbers,
                                 const std::vector<double>& values,
                                 double size,
                                 std::uint64_t seed) {
  std::vector<double> squares(values.size());
  const DType dtype = gradient.inputs().front().dtype();
  const double of_v = gradient.has_fixed_cotangent() ? 0 : rounding_dither(dtype);
  if (size == 0 && of_v == 0) return squares;
  for (int pair = 0; pair < kPairs; ++pair) {
    const auto on_one_side = [&](double side) {
      return at(gradient, moved(gradient.inputs(), side * size, "input ", pair, seed),
                moved(v, side * of_v, "output ", pair, seed), numbers, values.size());
    };
    const std::vector<double> above = on_one_side(1);
    const std::vector<double> below = on_one_side(-1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double off = (above[i] + below[i]) / 2 - values[i];
      if (std::isfinite(off)) squares[i] += off * off;
    }
  }
  for (double& square : squares) square = std::sqrt(square / kPairs);
  return squares;
}

void excuse_rounding(const std::vector<double>& rounding, Judgement& found) {
  for (std::size_t i = 0; i < found.wrong.size(); ++i) {
    if (!found.wrong[i] || !(found.excess(i) > 1)) continue;
    const double limit = found.limit[i] + kCertainDeviations * rounding[i];
    if (!(std::abs(found.analytical[i] - found.nearest[i]) <= limit)) continue;
    found.limit[i] = limit;
    found.wrong[i] = 0;
    found.unsure[i] = 1;
  }
}

void settle_own_rounding(Formula& formula,
                         const Look& look,
                         const Derivatives& reference,
                         Judgement& found) {
  const bool is_right = std::none_of(found.wrong.begin(), found.wrong.end(),
                                     [](std::uint8_t one) { return one != 0; });
  if (formula.gradient == nullptr || is_right || formula.is_late()) return;
  const bool is_still = std::all_of(reference.scale.begin(), reference.scale.end(),
                                    [](double scale) { return scale == 0; });
  const double near = std::min(rounding_dither(formula.dtype()), kWidestDither);
  const double size = !formula.alone ? 0 : is_still ? kWidestDither : near;
  const OfGradients numbers = [&](const std::vector<Tensor>& gradients) {
    std::vector<double> values;
    values.reserve(look.elements.size());
    for (const std::int64_t i : look.elements) {
      values.push_back(gradients[look.input].get_float_element(i));
    }
    return values;
  };
  std::vector<double> rounding;
  const auto count = std::ssize(look.elements);
  for (std::size_t row = 0; row < formula.weights.size(); ++row) {
    const auto begin = found.analytical.begin() + static_cast<std::ptrdiff_t>(row) * count;
    const std::vector<double> off =
        own_rounding(*formula.gradient, like_outputs(formula.f, formula.weights[row]), numbers,
                     {begin, begin + count}, size, formula.seed);
    ++formula.evaluations;
    rounding.insert(rounding.end(), off.begin(), off.end());
  }
  excuse_rounding(rounding, found);
}

}  // namespace fluidcore::gradcheck
