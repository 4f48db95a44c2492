#pragma once

#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/formula.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// Gradients of 0 that rounding forbids to see exactly. So it is with a constant that is added
// before a normalization: f does not depend on it, and what the differences show is rounding. Such
// a gradient is judged by f over x, or, where f is 0, by how steep it is farther away.

// Flags elements that never moved f, where f is so large that it could not show a move.
//
// Where f is 1e16 times x and more, a step of x vanishes in the rounding of f. That does not matter
// where the gradient is claimed to be 0, too, and much larger steps do not move f either.
void flag_absorbed(Formula& formula,
                   const Look& look,
                   const std::vector<double>& claimed,
                   Derivatives& reference);

// What the gradient is judged by, for each cotangent, if it is 0 as far as f tells: then everything
// is right, within one limit. nullopt if not, as where f moves once the steps are much larger, in a
// way that is no rounding: f does depend on the input then, and has absorbed the smaller steps.
std::optional<std::vector<double>> settle_zero(Formula& formula,
                                               const Look& look,
                                               Derivatives& reference,
                                               Judgement& found);

}  // namespace fluidcore::gradcheck
