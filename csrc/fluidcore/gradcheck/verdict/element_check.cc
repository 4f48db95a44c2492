#include "fluidcore/gradcheck/verdict/element_check.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/along_branches.h"
#include "fluidcore/gradcheck/verdict/cancellation.h"
#include "fluidcore/gradcheck/verdict/comparison.h"
#include "fluidcore/gradcheck/verdict/confirm.h"
#include "fluidcore/gradcheck/verdict/own_rounding.h"
#include "fluidcore/gradcheck/verdict/zero_gradient.h"

namespace fluidcore::gradcheck {

namespace {

void leave_overflows_open(const ElementClaim& claim, Derivatives& reference) {
  for (std::size_t i = 0; i < reference.error.size() && !claim.overflows.empty(); ++i) {
    const std::size_t column = i % claim.overflows.size();
    if (!claim.overflows[column]) continue;
    reference.flags[column] |= kDomain;
    reference.error[i] = std::numeric_limits<double>::infinity();
  }
}

// What an element may be off besides its error bars: its rounding, and what it varies by.
std::vector<double> tolerance_of(const Formula& formula,
                                 const Look& look,
                                 const ElementClaim& claim,
                                 std::vector<double> rounding,
                                 const Derivatives& reference) {
  constexpr double kDeviations = 4;
  constexpr double kRoundings = 16;
  const std::vector<double> heights = formula.heights(look.input);
  const double unit = unit_roundoff(formula.dtype());
  for (std::size_t i = 0; i < rounding.size(); ++i) {
    // f does not depend on the element, and what is claimed is what rounding left.
    const bool is_left = reference.scale[i] == 0 && reference.error[i] == 0 && claim.value[i] != 0;
    if (is_left) rounding[i] += kRoundings * unit * heights[i / look.elements.size()];
    if (!claim.deviation.empty()) {
      rounding[i] += kDeviations * claim.deviation[i % look.elements.size()];
    }
  }
  return rounding;
}

// The judgement after a second measurement.
Judgement measured_again(Formula& formula,
                         const Look& look,
                         const ElementClaim& claim,
                         std::vector<double> tolerance,
                         Derivatives& reference) {
  const std::int64_t runs = confirm(
      formula.f, {look.input, claim.value, tolerance}, look.elements, look.rows,
      {formula.weights, formula.noise.near}, formula.rules,
      {formula.workers, formula.seed, formula.noise.far, true, formula.gradient}, reference);
  formula.evaluations += runs;
  leave_overflows_open(claim, reference);
  const std::vector<double> least = formula_tolerance(reference);
  for (std::size_t i = 0; i < least.size(); ++i) tolerance[i] = std::max(tolerance[i], least[i]);
  Judgement found = judge(reference, claim.value, tolerance, formula.rules);
  if (!found.is_proven() && prove_along_branches(formula, look, found, reference)) {
    found = judge(reference, claim.value, tolerance, formula.rules);
  }
  return found;
}

// As long as there is no second measurement, nothing is wrong.
void leave_unconfirmed(Derivatives& reference, Judgement& found) {
  for (std::size_t i = 0; i < found.wrong.size(); ++i) {
    if (!found.wrong[i]) continue;
    found.wrong[i] = 0;
    found.unsure[i] = 1;
    reference.flags[i % static_cast<std::size_t>(reference.elements)] |= kLate;
  }
}

ElementCheck judged(Formula& formula,
                    const Look& look,
                    const ElementClaim& claim,
                    Numerical numerical) {
  Derivatives reference = std::move(numerical.reference);
  leave_overflows_open(claim, reference);
  std::vector<double> rounding =
      formula.alone || claim.made_in
          ? alone_tolerance(reference, claim.made_in.value_or(formula.dtype()))
          : formula_tolerance(reference);
  flag_absorbed(formula, look, claim.value, reference);
  const std::vector<double> tolerance =
      tolerance_of(formula, look, claim, std::move(rounding), reference);
  Judgement found = judge(reference, claim.value, tolerance, formula.rules);
  if (!found.is_proven()) {
    if (formula.is_late()) {
      leave_unconfirmed(reference, found);
    } else {
      found = measured_again(formula, look, claim, tolerance, reference);
    }
  }
  settle_own_rounding(formula, look, reference, found);
  settle_cancellation(formula, look, found);
  std::optional<std::vector<double>> heights = settle_zero(formula, look, reference, found);
  return {std::move(reference), std::move(found), std::move(heights), std::move(numerical.along)};
}

}  // namespace

Derivatives exact(std::vector<double> value, std::vector<double> scale, std::int64_t elements) {
  Derivatives found(0, elements);
  found.cotangents = std::ssize(value) / elements;
  found.error.resize(value.size());
  found.low = found.high = value;
  found.value = std::move(value);
  found.scale = std::move(scale);
  return found;
}

bool ElementCheck::trusts_reference() const {
  return !heights && judgement.verdict() != Verdict::kFail;
}

Derivatives ElementCheck::trusted() const {
  if (trusts_reference()) return reference;
  std::vector<double> scale = reference.scale;
  const auto elements = static_cast<std::size_t>(reference.elements);
  for (std::size_t i = 0; heights && i < scale.size(); ++i) scale[i] = (*heights)[i / elements];
  return exact(judgement.analytical, std::move(scale), reference.elements);
}

std::optional<ElementCheck> check_elements(Formula& formula,
                                           const Look& look,
                                           const ElementClaim& claim) {
  return with_plain_exceptions([&]() -> std::optional<ElementCheck> {
    std::optional<Numerical> numerical =
        compare(formula, look, claim.made_in ? nullptr : &claim.value);
    if (!numerical) return std::nullopt;
    return judged(formula, look, claim, *std::move(numerical));
  });
}

}  // namespace fluidcore::gradcheck
