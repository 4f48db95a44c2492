#pragma once

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/formula.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// Leaves what is open that is off by no more than the grid of f hides, and raises its limit.
//
// The sum of tanh(x) is 0 where there are as many 1 as -1. Its rounding is that of 1, though, as
// the binary digits of its values show: all are multiples of one number. Beside the steps, that is
// how far a derivative may be off, whatever the size of f says. Only in float64: elsewhere noise is
// measured, and steps are coarser.
void settle_cancellation(Formula& formula, const Look& look, Judgement& found);

}  // namespace fluidcore::gradcheck
