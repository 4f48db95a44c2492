#include "fluidcore/gradcheck/verdict/branch_direction.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kDraws = 32;        // each leaves half of the ties of two: enough for millions
constexpr int kDrawsOfFew = 128;  // elements, which may have one branch of many
constexpr std::ptrdiff_t kFew = 64;
constexpr double kSmoothChange = 64;  // of A beside its size, for a change of x beside its own

// The elements by which the gradient at x + εd is not A; nullopt where there is none.
std::optional<std::vector<std::size_t>> changed(Gradient& gradient,
                                                std::size_t input,
                                                const std::vector<Tensor>& v,
                                                const std::vector<double>& a,
                                                const std::vector<double>& direction) {
  std::vector<Tensor> x = gradient.inputs();
  const DType dtype = x[input].dtype();
  const double change = std::sqrt(unit_roundoff(dtype));
  const double step = change * root_mean_square(x[input]);
  x[input] = x[input].clone();
  for (std::int64_t i = 0; i < x[input].size(); ++i) {
    const double moved =
        x[input].get_float_element(i) + step * direction[static_cast<std::size_t>(i)];
    x[input].set_float_element(i, round_to(dtype, moved));
  }
  const std::vector<Tensor>* const there = gradients_at(gradient, x, v);
  if (there == nullptr) return std::nullopt;
  const double size = root_mean_square(a.data(), std::ssize(a));
  std::vector<std::size_t> elements;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off =
        std::abs((*there)[input].get_float_element(static_cast<std::int64_t>(i)) - a[i]);
    const bool is_same = off <= kSmoothChange * change * std::max(size, std::abs(a[i]));
    if (!is_same) elements.push_back(i);  // NaN, too
  }
  return elements;
}

}  // namespace

std::optional<BranchDirection> branch_direction(Gradient& gradient,
                                                std::size_t input,
                                                const std::vector<Tensor>& v,
                                                const std::vector<double>& a,
                                                std::vector<double> direction,
                                                std::uint64_t seed,
                                                std::string_view name) {
  for (int draw = 0;; ++draw) {
    const auto others = changed(gradient, input, v, a, direction);
    if (!others) return std::nullopt;
    if (others->empty()) return BranchDirection{std::move(direction)};
    const bool are_few = std::ssize(*others) <= kFew;
    if (draw >= (are_few ? kDrawsOfFew : kDraws)) {
      for (const std::size_t i : *others) direction[i] = 0;
      break;
    }
    const RandomSequence numbers =
        random_sequence(seed, str_cat("input ", input), str_cat(name, " ", draw));
    for (const std::size_t i : *others) direction[i] = numbers.normal<double>(i);
    direction = round_direction(std::move(direction));
  }
  const auto others = changed(gradient, input, v, a, direction);
  if (!others || !others->empty()) return std::nullopt;
  return BranchDirection{std::move(direction), false};
}

}  // namespace fluidcore::gradcheck
