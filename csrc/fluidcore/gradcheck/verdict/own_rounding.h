#pragma once

#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/verdict/formula.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace fluidcore::gradcheck {

// Leaves what is open that seems wrong by no more than the gradient's own rounding, and raises its
// limit. Only where there is no wider form to compare with.
//
// Terms that cancel leave errors that are large beside the sum, and the differences of f do not
// show them. The gradient at x + d and at x - d, averaged, is that at x but for rounding: rounding
// errors differ from point to point, and a bug does not. As in KernelTest, d is √u of x; and more
// where f does not move at all: rounding may be one and the same in a neighbourhood.
void settle_own_rounding(Formula& formula,
                         const Look& look,
                         const Derivatives& reference,
                         Judgement& found);

}  // namespace fluidcore::gradcheck
