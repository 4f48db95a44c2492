#include "fluidcore/gradcheck/verdict/linearity.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kRuns = 8;             // deviations that two runs may be apart
constexpr int kCopies = 8;              // of a cotangent
constexpr double kSpreadsOfCopies = 4;  // that their mean is off for certain

// What copies may refute; nullptr: nothing.
const Deviation* open_in(const std::optional<Deviation>& worst) {
  return worst && worst->linear == Linear::kOpen ? &*worst : nullptr;
}

void check_sizes(const Related& related, std::size_t inputs) {
  const auto are_for_each = [&](const Related::Values& values) {
    require(values.size() == inputs, "gradcheck: gradients to be compared must be by all ", inputs,
            " inputs, got ", values.size());
    for (std::size_t k = 0; k < inputs; ++k) {
      require(values[k].size() == related.found[k].size(),
              "gradcheck: gradients to be compared must be of one size, got ", values[k].size(),
              " elements beside ", related.found[k].size());
    }
  };
  are_for_each(related.found);
  are_for_each(related.first);
  if (!related.second.empty()) are_for_each(related.second);
}

std::vector<std::vector<Tensor>> dithered_copies(std::vector<std::vector<Tensor>> cotangents,
                                                 std::uint64_t seed,
                                                 int copy) {
  for (std::size_t c = 0; c < cotangents.size(); ++c) {
    for (std::size_t j = 0; j < cotangents[c].size(); ++j) {
      const std::string purpose = str_cat("copy ", copy, " of cotangent ", c);
      const RandomSequence numbers = random_sequence(seed, str_cat("output ", j), purpose);
      cotangents[c][j] = dithered(cotangents[c][j], kCopyDither, numbers);
    }
  }
  return cotangents;
}

// How far the elements of those deviations are off for each copy.
std::vector<std::vector<double>> off_for_copies(const std::vector<std::optional<Deviation>>& worst,
                                                const Relation& relation) {
  std::vector<std::vector<double>> off(worst.size());
  const std::vector<std::vector<Tensor>> cotangents = relation.cotangents();
  for (int copy = 0; copy < kCopies; ++copy) {
    const Related found = relation.at(dithered_copies(cotangents, relation.seed, copy));
    check_sizes(found, worst.size());
    for (std::size_t k = 0; k < worst.size(); ++k) {
      const Deviation* const open = open_in(worst[k]);
      if (open == nullptr) continue;
      const std::size_t i = open->element;
      const std::size_t size = found.found[k].size();
      require(i < size, "gradcheck: a gradient must keep its size, got ", size, " elements");
      off[k].push_back(found.found[k][i] - found.expected_at(k, i));
    }
  }
  return off;
}

}  // namespace

double rounding_of_sums(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 1e-9;
    case DType::kFloat16: return 0.05;
    case DType::kBFloat16: return 0.3;
    default: return 1e-4;
  }
}

Tensor scaled_exactly(const Tensor& cotangent) {
  Tensor result = cotangent.clone();
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.set_float_element(i, kExactFactor * cotangent.get_float_element(i));
  }
  return result;
}

std::optional<Deviation> deviation(const Related& related,
                                   std::size_t input,
                                   DType dtype,
                                   const Slack& slack) {
  Deviation found;
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < related.found[input].size(); ++i) {
    const double expected = related.expected_at(input, i);
    if (!std::isfinite(expected)) continue;
    largest = std::max(largest, std::abs(expected));
    const double value = related.found[input][i];
    if (std::isnan(value)) return Deviation{i, value, expected, 0, Linear::kNo};
    const double apart = std::abs(value - expected);
    if (!(apart > worst) || std::isinf(value)) continue;
    worst = apart;
    found = {i, value, expected};
  }
  if (worst == 0) return std::nullopt;
  const double rounding = rounding_of_sums(dtype);
  if (!related.is_zero()) {
    found.limit = rounding * (largest + slack.terms) + slack.tolerance * largest +
                  kRuns * slack.spread + smallest_normal(dtype);
  }
  if (worst > found.limit) found.linear = related.is_zero() ? Linear::kNo : Linear::kOpen;
  return found;
}

bool is_fault(std::span<const double> off, double limit) {
  const auto count = static_cast<double>(off.size());
  double mean = 0;
  for (const double one : off) mean += one / count;
  double squares = 0;
  for (const double one : off) squares += (one - mean) * (one - mean);
  return std::abs(mean) > kSpreadsOfCopies * std::sqrt(squares / (count - 1)) + limit;
}

std::vector<std::optional<Deviation>> check_linear(const Related& related,
                                                   const Relation& relation) {
  check_sizes(related, relation.slack.size());
  std::vector<std::optional<Deviation>> worst;
  for (std::size_t k = 0; k < related.found.size(); ++k) {
    Slack slack = relation.slack[k];
    worst.push_back(deviation(related, k, relation.dtype, slack));
    if (open_in(worst.back()) == nullptr) continue;
    slack.terms = relation.terms(k);
    worst.back() = deviation(related, k, relation.dtype, slack);
  }
  if (std::none_of(worst.begin(), worst.end(), open_in)) return worst;
  const std::vector<std::vector<double>> off = off_for_copies(worst, relation);
  for (std::size_t k = 0; k < worst.size(); ++k) {
    std::optional<Deviation>& one = worst[k];
    if (one && !off[k].empty() && is_fault(off[k], one->limit)) one->linear = Linear::kNo;
  }
  return worst;
}

}  // namespace fluidcore::gradcheck
