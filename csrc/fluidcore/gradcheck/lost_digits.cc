#include "fluidcore/gradcheck/lost_digits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fluidcore/gradcheck/random_values.h"

namespace fluidcore::gradcheck {

namespace {

constexpr std::size_t kMany = 128;     // elements that are moved
constexpr std::size_t kLookedAt = 32;  // elements
constexpr std::size_t kFewest = 6;     // points on a way
constexpr double kPlaces = 2;          // where digits are lost, on the way from f to the gradient
constexpr double kSteady = 0.7;        // of what a kernel is off by: a fault changes less
constexpr double kScatter = 0.05;      // of the same: errors of lost digits differ more

using Coordinates = std::vector<std::pair<std::size_t, std::int64_t>>;

// All elements of the wanted inputs.
Coordinates all_elements(const OperatorGradient& kernel) {
  Coordinates all;
  for (std::size_t k = 0; k < kernel.wanted().size(); ++k) {
    const std::int64_t size = kernel.inputs()[kernel.wanted()[k]].second.size();
    for (std::int64_t i = 0; i < size; ++i) all.emplace_back(k, i);
  }
  return all;
}

// Of very many elements, `elements` of input `k` and some others.
Coordinates some_of(const Coordinates& all,
                    std::uint64_t seed,
                    std::size_t k,
                    const std::vector<std::int64_t>& elements) {
  if (all.size() <= kMany) return all;
  Coordinates chosen;
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

double deviation(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double result = std::sqrt(squares / static_cast<double>(values.size()));
  return std::isfinite(result) ? result : 0;
}

void append(std::vector<double>& to, const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) to.push_back(tensor.get_float_element(i));
}

// The elements that are off by `much`, the worst first.
std::vector<std::int64_t> worst_elements(const Judgement& found,
                                         const std::vector<std::uint8_t>& much,
                                         std::size_t elements) {
  std::vector<double> size(elements);
  for (std::size_t i = 0; i < much.size(); ++i) {
    if (much[i]) size[i % elements] = std::max(size[i % elements], may_be_off(found, i));
  }
  std::vector<std::int64_t> worst;
  for (std::size_t i = 0; i < elements; ++i) {
    if (size[i] > 0) worst.push_back(static_cast<std::int64_t>(i));
  }
  std::stable_sort(worst.begin(), worst.end(), [&](std::int64_t a, std::int64_t b) {
    return size[static_cast<std::size_t>(a)] > size[static_cast<std::size_t>(b)];
  });
  return worst;
}

}  // namespace

LostDigits::LostDigits(OperatorGradient& kernel,
                       OperatorGradient& formula,
                       const std::vector<std::vector<Tensor>>& cotangents,
                       std::uint64_t seed,
                       std::size_t k,
                       const std::vector<std::int64_t>& elements)
    : kernel_(kernel),
      formula_(formula),
      cotangents_(cotangents),
      k_(k),
      neighbourhood_(formula, kernel.inputs()[kernel.wanted()[k]].second.dtype(), seed),
      here_(gradients(std::nullopt)) {
  for (const auto& [input, element] : some_of(all_elements(kernel), seed, k, elements)) {
    for (const double sign : {1.0, -1.0}) {
      const std::optional<Neighbour> found = neighbourhood_.beside(input, element, sign);
      if (!found) continue;
      neighbours_.push_back(*found);
      there_.push_back(gradients(found));
    }
  }
}

LostDigits::Both LostDigits::gradients(const std::optional<Neighbour>& at) {
  std::vector<Tensor> x;
  x.reserve(kernel_.inputs().size());
  for (const auto& [name, tensor] : kernel_.inputs()) x.push_back(tensor.clone());
  if (at) x[kernel_.wanted()[at->k]].set_float_element(at->element, at->value);
  const std::vector<Tensor> wide = in_float64(x);
  Both found;
  for (const std::vector<Tensor>& v : cotangents_) {
    append(found.kernel, kernel_.gradient(x, v)[k_]);
    append(found.formula, formula_.gradient(wide, in_float64(v))[k_]);
  }
  return found;
}

std::vector<double> LostDigits::uncertain() const {
  std::vector<double> total(here_.formula.size());
  for (const Both& at : there_) {
    for (std::size_t i = 0; i < total.size(); ++i) {
      const double change = at.formula[i] - here_.formula[i];
      if (std::isfinite(change)) total[i] += change * change;
    }
  }
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
  if (along.size() < kFewest) return true;
  double most = drift(there_[farthest], i);
  std::vector<double> errors;
  for (const Both& at : along) {
    most = std::max(most, drift(at, i));
    errors.push_back(at.kernel[i] - at.formula[i]);
  }
  const double apart = std::abs(here_.kernel[i] - here_.formula[i]);
  return most < kSteady * apart || deviation(errors) < kScatter * apart;
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
      at->second.push_back(gradients(point));
    }
  }
  return at->second;
}

double may_be_off(const Judgement& found, std::size_t i) {
  const double distance = std::abs(found.analytical[i] - found.nearest[i]);
  return found.unsure[i] ? std::max(found.limit[i], distance) : distance;
}

bool are_rounding(OperatorGradient& kernel,
                  OperatorGradient& formula,
                  const std::vector<std::vector<Tensor>>& cotangents,
                  std::uint64_t seed,
                  std::size_t k,
                  const Judgement& found,
                  const std::vector<std::uint8_t>& wrong) {
  const std::size_t elements = wrong.size() / cotangents.size();
  std::vector<std::int64_t> worst = worst_elements(found, wrong, elements);
  if (all_elements(kernel).size() > kMany && worst.size() > kLookedAt) worst.resize(kLookedAt);
  LostDigits lost(kernel, formula, cotangents, seed, k, worst);
  const std::vector<double> uncertain = lost.uncertain();
  const auto positions = [&] {
    std::vector<std::size_t> result;
    for (const std::int64_t element : worst) {
      for (auto i = static_cast<std::size_t>(element); i < wrong.size(); i += elements) {
        if (wrong[i]) result.push_back(i);
      }
    }
    return result;
  }();
  return std::all_of(
             positions.begin(), positions.end(),
             [&](std::size_t i) { return may_be_off(found, i) <= kPlaces * uncertain[i]; }) &&
         std::none_of(positions.begin(), positions.end(),
                      [&](std::size_t i) { return lost.is_steady(i); });
}

}  // namespace fluidcore::gradcheck
