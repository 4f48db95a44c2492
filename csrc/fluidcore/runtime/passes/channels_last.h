#pragma once

#include <string>
#include <vector>

#include "fluidcore/runtime/passes/step.h"

namespace fluidcore {

class BlockDesc;
class OpRegistry;

// Lets images lie in memory with their channels last from one convolution to the next, as the
// kernels like them; see OpDef::images():
//
//   conv2d  batch_norm  relu  reshape  ->  transpose  conv2d  batch_norm  relu  transpose  reshape
//
// An image in the other layout is a variable of its own, x@NHWC. What works element by element, or
// takes images too, follows what it reads; an image that something else reads, or that is fetched,
// is transposed back. Only block 0 is looked at. Sums over the pixels of a batch are taken in
// another order, so results differ by rounding.
Steps channels_last(Steps steps,
                    const BlockDesc& block,
                    const OpRegistry& ops,
                    const std::vector<std::string>& fetches);

}  // namespace fluidcore
