#pragma once

#include "fluidcore/op/contexts.h"
#include "fluidcore/op/kernel.h"

namespace fluidcore {

// The CPU's kernel for an operator of a Plan that runs on another device: what the operator reads
// is copied to the host, and what it writes back. Throws InvalidArgument, by the operator's name,
// where the CPU has no kernel either, and for what cannot be copied so: blocks and tensor arrays.
Kernel kernel_on_host(const KernelContext& context);

}  // namespace fluidcore
