#pragma once

#include "fluidcore/kernels/cpu/fused_conv.h"
#include "fluidcore/op/contexts.h"
#include "fluidcore/op/kernel.h"

namespace fluidcore {

// A convolution with the channels last that takes an epilogue: a bias or a scale and shift for each
// filter, then a sum with another image, then relu, each if it is there.
Kernel fused_conv(const cpu::FusedConv& conv,
                  Arg<const float> input,
                  Arg<const float> filter,
                  Arg<float> output);

}  // namespace fluidcore
