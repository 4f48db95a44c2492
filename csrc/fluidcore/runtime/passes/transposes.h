#pragma once

#include <vector>

#include "fluidcore/runtime/passes/fuse_rows.h"

namespace fluidcore {

// Lets a step whose kernel can stride over its operands, see Kernel::strided(), read what was
// transposed for it alone where it was before, and write its result where the step after it would
// put it:
//
//   transpose  mul  attention  transpose  ->  mul  attention + transpose + transpose
//
// No bit of a result changes.
Fused transposes(std::vector<PreparedStep>& steps, const LivesWithin& lives_within);

}  // namespace fluidcore
