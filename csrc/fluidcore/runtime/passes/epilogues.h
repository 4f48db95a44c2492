#pragma once

#include <vector>

#include "fluidcore/runtime/passes/fuse_rows.h"

namespace fluidcore {

// Lets a step whose kernel takes an epilogue, see Kernel::epilogue(), do what the steps after it do
// to its results, before it stores them:
//
//   conv2d  batch_norm  elementwise_add  relu  ->  conv2d + batch_norm + elementwise_add + relu
//
// Nothing else may read what lies between. A batch_norm becomes a factor and a shift for each
// channel, so that results differ by rounding; no other result changes.
Fused epilogues(std::vector<PreparedStep>& steps, const LivesWithin& lives_within);

}  // namespace fluidcore
