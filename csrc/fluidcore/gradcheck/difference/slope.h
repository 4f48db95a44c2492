#pragma once

#include <optional>
#include <vector>

#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// The derivative of the one number ⟨v, f(x + t d)⟩ by t at 0, in as few evaluations as it takes: to
// be compared with a claim, which it can prove but not refute.
//
// Central differences of small steps are extrapolated until the last three agree within `wanted`;
// `error` is by how much they do, and their rounding. If `claimed` is given, the difference of one
// still smaller step is enough where it agrees with that within `wanted` and its own rounding,
// which must be less than `wanted`. Unlike differentiate_along(), which looks at every output, this
// sees no kink at the point: there it is the mean of the one-sided derivatives. Flag kDomain, with
// an infinite error: f is not finite at the point or at a step, or throws at one. Flag kJump: the
// quotients never agree. The levels of the extrapolation are noted.
//
// Throws InvalidArgument as differentiate_along() does, unless `wanted` is positive, and for an
// input that moves or an output that is not float64.
Derivatives slope_along(Function& function,
                        Directions directions,
                        const std::vector<double>& cotangent,
                        double wanted,
                        std::optional<double> claimed = std::nullopt);

}  // namespace fluidcore::gradcheck
