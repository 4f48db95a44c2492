#include "fluidcore/gradcheck/verdict/lost_digits.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/verdict/audited_gradient.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::size_t kMany = 128;       // elements that are moved
constexpr std::size_t kLookedAt = 32;    // elements
constexpr std::size_t kFewestOnWay = 6;  // points
constexpr double kPlaces = 2;            // where digits are lost, on the way from f to the gradient
constexpr double kSteady = 0.7;          // of what a kernel is off by: a fault changes less
constexpr double kScatter = 0.05;        // of the same: errors of lost digits differ more

using InputElements = std::vector<std::pair<std::size_t, std::int64_t>>;

// All elements of all inputs.
InputElements all_elements(const GradientPair& pair) {
  InputElements all;
  const std::vector<Tensor>& inputs = pair.kernel.inputs();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (std::int64_t i = 0; i < inputs[k].size(); ++i) all.emplace_back(k, i);
  }
  return all;
}

// Of very many elements, `elements` of input `k` and some others.
InputElements elements_to_move(const InputElements& all,
                               std::uint64_t seed,
                               std::size_t k,
                               const std::vector<std::int64_t>& elements) {
  if (all.size() <= kMany) return all;
  InputElements chosen;
  for (const std::int64_t element : elements) chosen.emplace_back(k, element);
  const RandomSequence numbers = random_sequence(seed, str_cat("input ", k), "moved elements");
  for (std::size_t i = chosen.size(); i < kMany; ++i) {
    const double part = numbers.uniform<double>(i);
    chosen.push_back(all[static_cast<std::size_t>(part * static_cast<double>(all.size()))]);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

double standard_deviation(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double result = std::sqrt(squares / static_cast<double>(values.size()));
  return std::isfinite(result) ? result : 0;
}

// Positions in `elements` of those that are off, the worst first.
std::vector<std::size_t> worst_first(const std::vector<double>& off, std::size_t elements) {
  std::vector<double> size(elements);
  for (std::size_t i = 0; i < off.size(); ++i) {
    size[i % elements] = std::max(size[i % elements], off[i]);
  }
  std::vector<std::size_t> worst;
  for (std::size_t j = 0; j < elements; ++j) {
    if (size[j] > 0) worst.push_back(j);
  }
  std::stable_sort(worst.begin(), worst.end(),
                   [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  return worst;
}

}  // namespace

LostDigits::LostDigits(const GradientPair& pair, std::size_t k, std::vector<std::int64_t> doubt)
    : pair_(pair),
      k_(k),
      doubt_(std::move(doubt)),
      neighbourhood_(pair.f, pair.dtype(), pair.seed) {
  const Both here = gradients(std::nullopt);
  here_ = in_doubt(here);
  squares_.resize(here.formula.size());
  for (const auto& [input, element] : elements_to_move(all_elements(pair), pair.seed, k, doubt_)) {
    for (const double sign : {1.0, -1.0}) {
      const std::optional<Neighbour> found = neighbourhood_.beside(input, element, sign);
      if (!found) continue;
      const Both there = gradients(found);
      for (std::size_t i = 0; i < squares_.size(); ++i) {
        const double change = there.formula[i] - here.formula[i];
        if (std::isfinite(change)) squares_[i] += change * change;
      }
      neighbours_.push_back(*found);
      there_.push_back(in_doubt(there));
    }
  }
}

LostDigits::Both LostDigits::gradients(const std::optional<Neighbour>& at) const {
  std::vector<Tensor> x = pair_.kernel.inputs();
  if (at) {
    x[at->k] = x[at->k].clone();
    x[at->k].set_float_element(at->element, at->value);
  }
  Both found;
  for (const std::vector<Tensor>& v : pair_.cotangents) {
    try {
      const GradientPair::Both both = pair_.at(x, v);
      append(found.kernel, both.kernel[k_]);
      append(found.formula, both.formula[k_]);
    } catch (const std::exception&) {
      const auto size = found.kernel.size() + static_cast<std::size_t>(x[k_].size());
      found.kernel.resize(size, std::numeric_limits<double>::quiet_NaN());
      found.formula.resize(size, std::numeric_limits<double>::quiet_NaN());
    }
  }
  return found;
}

LostDigits::Both LostDigits::in_doubt(const Both& all) const {
  const std::size_t rows = pair_.cotangents.size();
  const std::size_t size = all.formula.size() / rows;
  Both found;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const std::int64_t element : doubt_) {
      const std::size_t i = row * size + static_cast<std::size_t>(element);
      found.formula.push_back(all.formula[i]);
      found.kernel.push_back(all.kernel[i]);
    }
  }
  return found;
}

std::vector<double> LostDigits::uncertain() const {
  std::vector<double> total = squares_;
  for (double& value : total) value = std::sqrt(value);
  return total;
}

bool LostDigits::is_steady(std::size_t i) {
  if (there_.empty()) return true;
  std::size_t farthest = 0;
  for (std::size_t j = 1; j < there_.size(); ++j) {
    if (drift(there_[j], i) > drift(there_[farthest], i)) farthest = j;
  }
  const std::vector<Both>& along = way(farthest);
  if (along.size() < kFewestOnWay) return true;
  double most = drift(there_[farthest], i);
  std::vector<double> errors;
  for (const Both& at : along) {
    most = std::max(most, drift(at, i));
    errors.push_back(at.kernel[i] - at.formula[i]);
  }
  const double apart = std::abs(here_.kernel[i] - here_.formula[i]);
  return most < kSteady * apart || standard_deviation(errors) < kScatter * apart;
}

// By how much kernel minus formula differs from what it is at x.
double LostDigits::drift(const Both& at, std::size_t i) const {
  const double error = at.kernel[i] - at.formula[i];
  const double before = here_.kernel[i] - here_.formula[i];
  if (!std::isfinite(error)) return 0;
  const double same = std::abs(error - before);
  if (here_.formula[i] == 0) return same;
  return std::min(same, std::abs(error - before / here_.formula[i] * at.formula[i]));
}

const std::vector<LostDigits::Both>& LostDigits::way(std::size_t index) {
  const auto [at, is_new] = ways_.try_emplace(index);
  if (is_new) {
    for (const Neighbour& point : neighbourhood_.between(neighbours_[index])) {
      at->second.push_back(in_doubt(gradients(point)));
    }
  }
  return at->second;
}

bool are_rounding(const GradientPair& pair,
                  std::size_t k,
                  const std::vector<std::int64_t>& elements,
                  const std::vector<double>& off,
                  std::int64_t& evaluations) {
  const std::size_t rows = pair.cotangents.size();
  std::vector<std::size_t> worst = worst_first(off, elements.size());
  if (worst.size() > kLookedAt && all_elements(pair).size() > kMany) worst.resize(kLookedAt);
  std::vector<std::int64_t> doubt;
  doubt.reserve(worst.size());
  for (const std::size_t j : worst) doubt.push_back(elements[j]);
  LostDigits lost(pair, k, doubt);
  const auto all = [&](const auto& is_right) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t j = 0; j < worst.size(); ++j) {
        const double size = off[row * elements.size() + worst[j]];
        if (size > 0 && !is_right(row, j, size)) return false;
      }
    }
    return true;
  };
  const std::vector<double> uncertain = lost.uncertain();
  const bool is_excused =
      all([&](std::size_t row, std::size_t j, double size) {
        const auto element = static_cast<std::size_t>(doubt[j]);
        return size <= kPlaces * uncertain[row * (uncertain.size() / rows) + element];
      }) &&
      all([&](std::size_t row, std::size_t j, double /*size*/) {
        return !lost.is_steady(row * worst.size() + j);
      });
  evaluations += lost.evaluations();
  return is_excused;
}

}  // namespace fluidcore::gradcheck
