#pragma once

#include <vector>

#include "fluidcore/runtime/passes/fuse_rows.h"

namespace fluidcore {

// Puts a step whose kernel makes its results block by block, see Kernel::rows_after(), together
// with the rows after it that read them, while they are in the cache:
//
//   mul  elementwise_add + gelu  ->  mul + elementwise_add + gelu
//
// Results of the first step differ by rounding where a block is summed up in another order than the
// whole; those of the rows do not.
Fused rows_after(std::vector<PreparedStep>& steps);

}  // namespace fluidcore
