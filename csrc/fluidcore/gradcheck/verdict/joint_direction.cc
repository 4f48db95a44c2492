#include "fluidcore/gradcheck/verdict/joint_direction.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/difference/slope.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/sums.h"
#include "fluidcore/gradcheck/verdict/directional.h"

namespace fluidcore::gradcheck {

namespace {

constexpr double kTolerance = 1e-9;  // of the terms: a float64 formula is then as good as any other
constexpr double kFine = 1e-10;      // of them, where single elements are to be seen
constexpr double kAlone = 2 * kTolerance;  // of a look at one input: its error bar is no longer
constexpr double kSumDeviations = 5;       // of a sum of errors with random signs
constexpr double kBar = 0.25;              // of the tolerance: an error bar that is short enough
constexpr double kLengthen = 16;           // at most, what moves f little
constexpr double kDetectable = 1e-4;  // of the root mean square, an error of one element to be seen
constexpr double kShortest = 0.5;     // element of a direction

// Of either sign, from 1/2 to 3/2, of 16 bits. None is nearly zero, so no wrong element can hide;
// and hardly any two are equal, so opposite errors do not cancel.
double element(std::uint32_t bits) {
  constexpr unsigned kDigits = 15;
  constexpr unsigned kOne = 1U << kDigits;
  const double size = 0.5 + static_cast<double>(bits & (kOne - 1)) / kOne;
  return size * (1 - 2 * static_cast<double>((bits >> kDigits) & 1));  // a branch would go astray
}

std::vector<double> direction_of(std::int64_t size, double length, const RandomSequence& numbers) {
  std::vector<double> direction(static_cast<std::size_t>(size));
  constexpr std::size_t kEach = 8;  // halves of the four words of a number
  for (std::size_t i = 0; i < direction.size(); i += kEach) {
    const Philox::Counter words = numbers.bits(i / kEach);
    const std::size_t end = std::min(direction.size() - i, kEach);
    for (std::size_t j = 0; j < end; ++j) {
      direction[i + j] = length * element(words[j / 2] >> (16 * (j % 2)));
    }
  }
  return direction;
}

// An input along its direction, of which <A, d>, |A||d| and ‖A d‖ are known.
struct DirectedInput {
  std::size_t claim = 0;  // which of the claim
  std::vector<double> direction;
  double length = 0;  // of its elements, 1 in the middle
  double claimed = 0;
  double absolute = 0;
  double norm = 0;
  double size = 0;      // root mean square of A
  double greatest = 0;  // element of A

  void scale(double factor) {
    if (factor == 1) return;
    for (double& d : direction) d *= factor;
    for (double* number : {&length, &claimed, &absolute, &norm}) *number *= factor;
  }
};

DirectedInput part_of(std::size_t index, const Tensor& gradient, std::vector<double> direction) {
  const auto* const a = static_cast<const double*>(gradient.raw());
  DirectedInput part;
  part.claim = index;
  const auto size = std::ssize(direction);
  const ProductSums terms = product_sums(a, direction.data(), size);
  part.claimed = terms.sum;
  part.absolute = terms.absolute;
  part.norm = std::sqrt(terms.squares);
  part.size = std::sqrt(sum_of_squares(a, size) / static_cast<double>(size));
  for (std::int64_t i = 0; i < size; ++i) part.greatest = std::max(part.greatest, std::abs(a[i]));
  part.direction = std::move(direction);
  return part;
}

class Search {
 public:
  Search(Function& function,
         const JointClaim& claim,
         const Rules& rules,
         const JointOptions& options)
      : function_(function), claim_(claim), rules_(rules), options_(options) {}

  Proofs run() {
    std::vector<std::vector<std::size_t>> pending(1);
    pending[0].resize(claim_.inputs.size());
    std::iota(pending[0].begin(), pending[0].end(), std::size_t{0});
    for (int looks = 0; !pending.empty() && !is_late(); ++looks) {
      std::vector<std::size_t> group = std::move(pending.back());
      pending.pop_back();
      const std::size_t before = found_.of.size();
      look(group, looks);
      std::vector<std::size_t> rest;
      for (const std::size_t i : group) {
        if (found_.of.count(claim_.inputs[i]) == 0) rest.push_back(i);
      }
      if (rest.empty()) continue;
      if (found_.of.size() > before) {
        pending.push_back(std::move(rest));
      } else if (rest.size() > 1) {
        const auto middle = rest.begin() + static_cast<std::ptrdiff_t>(rest.size() / 2);
        pending.emplace_back(middle, rest.end());
        pending.emplace_back(rest.begin(), middle);
      }
    }
    return std::move(found_);
  }

 private:
  bool is_late() const {
    const Interruption* const interruption = function_.interruption();
    return interruption != nullptr && interruption->is_over();
  }

  // Directions that move each input by as much of itself, and then f about equally.
  std::vector<DirectedInput> parts(const std::vector<std::size_t>& group, int number) const {
    std::vector<DirectedInput> parts;
    double most = 0;
    for (const std::size_t i : group) {
      const Tensor& x = function_.inputs()[claim_.inputs[i]];
      const double length = power_of_two_below(root_mean_square(x));
      const RandomSequence numbers = random_sequence(
          options_.seed, str_cat("input ", claim_.inputs[i]), str_cat("together ", number));
      DirectedInput part = part_of(i, claim_.gradients[i], direction_of(x.size(), length, numbers));
      part.length = length;
      if (!(part.norm > 0 && std::isfinite(part.norm))) continue;
      most = std::max(most, part.norm);
      parts.push_back(std::move(part));
    }
    for (DirectedInput& part : parts) {
      part.scale(power_of_two_below(std::min(most / part.norm, kLengthen)));
    }
    return parts;
  }

  void look(const std::vector<std::size_t>& group, int number) {
    std::vector<DirectedInput> moved = parts(group, number);
    if (moved.empty()) return;
    double norm = 0;
    double absolute = 0;
    double claimed = 0;
    Directions directions(function_.inputs().size());
    for (DirectedInput& part : moved) {
      norm = std::hypot(norm, part.norm);
      absolute += part.absolute;
      claimed += part.claimed;
      directions[claim_.inputs[part.claim]] = std::move(part.direction);
    }
    const bool is_fine = std::all_of(
        moved.begin(), moved.end(), [&](const DirectedInput& part) { return is_by_element(part); });
    const double tolerance =
        (is_fine ? kFine : kTolerance) * std::min(absolute, kSumDeviations * norm);
    const Derivatives along =
        slope_along(function_, std::move(directions), claim_.cotangent, kBar * tolerance,
                    options_.levels ? std::nullopt : std::optional(claimed));
    found_.evaluations += along.evaluations;
    const double limit = rules_.bars * along.error[0] + tolerance;
    const double off = along.value[0] - claimed;
    if (!(std::abs(off) <= limit)) return;
    for (const DirectedInput& part : moved) {
      Proof proof = proof_of(part, limit, off);
      // Else it is looked at alone.
      if (proof.resolution > rules_.resolution) continue;
      if (proof.min_detectable_99 > detectable(part)) continue;
      proof.error = along.error[0];
      proof.claimed = claimed;
      proof.levels = along.levels;
      found_.of.emplace(claim_.inputs[part.claim], std::move(proof));
    }
  }

  bool is_by_element(const DirectedInput& part) const {
    return claim_.by_element.count(claim_.inputs[part.claim]) > 0;
  }

  // What must have been reported.
  double detectable(const DirectedInput& part) const {
    if (is_by_element(part)) {
      return rules_.resolution * kSmallElement * part.greatest / part.size;
    }
    return std::max(kDetectable, detectable_alone(part));
  }

  // What is not proven is looked at alone, which must see it, too.
  double detectable_alone(const DirectedInput& part) const {
    return kAlone * part.absolute / (blind_spot(options_.probes) * part.length * part.size);
  }

  Proof proof_of(const DirectedInput& part, double limit, double off) const {
    const double seen = limit + std::abs(off);
    Proof proof;
    proof.analytical = part.claimed;
    proof.numerical = part.claimed + off;
    proof.resolution = std::max(seen, kAlone * part.absolute) /
                       std::max(std::abs(part.claimed), kSmallElement * part.absolute);
    proof.min_detectable_99 = seen / (kShortest * part.length * part.size);
    if (!is_by_element(part)) {
      proof.min_detectable_99 = std::max(proof.min_detectable_99, detectable_alone(part));
    }
    return proof;
  }

  Function& function_;
  const JointClaim& claim_;
  const Rules& rules_;
  const JointOptions& options_;
  Proofs found_;
};

}  // namespace

Proofs prove_jointly(Function& function,
                     const JointClaim& claim,
                     const Rules& rules,
                     const JointOptions& options) {
  require(claim.inputs.size() == claim.gradients.size(),
          "gradcheck: there must be a gradient for each of the ", claim.inputs.size(),
          " inputs, got ", claim.gradients.size());
  for (std::size_t i = 0; i < claim.inputs.size(); ++i) {
    const std::size_t k = claim.inputs[i];
    require(k < function.inputs().size(), "gradcheck: there must be an input ", k, ", got ",
            function.inputs().size(), " inputs");
    const Tensor& gradient = claim.gradients[i];
    require(gradient.dtype() == DType::kFloat64 && gradient.size() == function.inputs()[k].size(),
            "gradcheck: the gradient by input ", k, " must be float64 with ",
            function.inputs()[k].size(), " elements, got ", gradient.dtype(), " with ",
            gradient.size());
  }
  return Search(function, claim, rules, options).run();
}

}  // namespace fluidcore::gradcheck
