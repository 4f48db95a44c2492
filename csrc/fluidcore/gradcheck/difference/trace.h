#pragma once

#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/ladder.h"
#include "fluidcore/gradcheck/function/moved_outputs.h"
#include "fluidcore/gradcheck/function/outputs.h"

namespace fluidcore::gradcheck {

// The level whose outputs lie in kPlus and kMinus of `ladder`, projected on the cotangent v; the
// outputs have one row. Differences are taken before they are added up, so that outputs that stand
// still add no rounding.
TracedLevel trace_level(const Ladder& ladder,
                        const LadderRule& rule,
                        const MovedOutputs& moved,
                        const Outputs& outputs,
                        const std::vector<double>& v,
                        const Ladder::Steps& steps,
                        double argument);

}  // namespace fluidcore::gradcheck
