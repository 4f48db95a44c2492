#pragma once

#include <cstdint>
#include <functional>

#include "fluidcore/kernels/epilogue.h"
#include "fluidcore/op/contexts.h"
#include "fluidcore/op/kernel.h"

namespace fluidcore {

// A kernel that can also do these parts; empty: there is none.
using MakeFused = std::function<FusedKernel(const EpilogueParts& parts)>;

// A convolution with the channels last, or a product of matrices, that takes an epilogue: a bias or
// a scale and shift for each of so many columns, then a sum with another output, then relu, each if
// it is there. Without one it is `plain`.
Kernel fused_kernel(std::function<void()> plain,
                    MakeFused make,
                    Arg<const float> input,
                    Arg<const float> weights,
                    Arg<float> output,
                    std::int64_t columns);
// The same of a kernel that can do every epilogue.
Kernel fused_kernel(const FusedKernel& kernel,
                    Arg<const float> input,
                    Arg<const float> weights,
                    Arg<float> output,
                    std::int64_t columns);

}  // namespace fluidcore
