#pragma once

#include "fluidcore/gradcheck/verdict/evidence.h"
#include "fluidcore/gradcheck/verdict/remeasure.h"

namespace fluidcore::gradcheck {

// Measures columns again at x: by central differences with other steps, and, of what these do not
// prove, from both sides. Returns the columns that are refuted.
//
// In 16 bits one side by itself tells little, and the noise of f is not known: `is_coarse`.
Columns look_at_both_sides(Evidence& evidence, Remeasure& measure, Columns columns, bool is_coarse);

}  // namespace fluidcore::gradcheck
