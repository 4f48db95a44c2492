#pragma once

#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"

namespace fluidcore::gradcheck {

// By which elements all cotangents of a claimed gradient agree with a central difference of one
// small step, measured with Approach::once: [elements].
//
// A claim that was not made from f(x ± h) agrees with it, beside rounding, to 2^-29 of its terms
// only if it is right: it would have to be wrong by the truncation error. What that may be is told
// by the largest disagreement among the elements that agree: their error bars are widened by it.
// What does not agree, where f bends at x as at a kink, or where rounding leaves fewer digits, may
// be right all the same: it is to be differentiated again.
std::vector<std::uint8_t> agreement(Derivatives& once, const std::vector<double>& claimed);

}  // namespace fluidcore::gradcheck
