#pragma once

#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/formula.h"

namespace fluidcore::gradcheck {

// Numerical derivatives, a column for each element, and what was seen on the way.
struct Numerical {
  Derivatives reference;
  // The derivative along the direction that tests the promise of independent rows, with its levels.
  std::optional<Derivatives> along = std::nullopt;
};

// The derivatives that are looked for. In float64, where the claim agrees with one central
// difference of a small step, that is enough; what is left is extrapolated. Where the time of f is
// over, elements are left out: kLate, with endless error bars.
//
// nullopt where rows turn out to depend on each other, though they promise not to: the derivative
// along a direction of all elements is not the sum over them.
//
//   claimed  [cotangents, elements], finite; nullptr: whatever the gradient is, extrapolate
std::optional<Numerical> compare(Formula& formula,
                                 const Look& look,
                                 const std::vector<double>* claimed);

// Whether the derivative along a dense direction, one column, is the sum over the elements: a
// dependence between rows that their promise denies is missing in the sum.
bool adds_up(const Derivatives& parts,
             const Derivatives& dense,
             const std::vector<double>& direction,
             const Rules& rules);

}  // namespace fluidcore::gradcheck
