#pragma once

#include "fluidcore/op/contexts.h"
#include "fluidcore/op/op_def.h"

namespace fluidcore {

// The kernel of an operator of builtin_ops() for float16 or bfloat16 that its float32 kernel is:
// inputs of 16 bits are widened into copies, the float32 kernel works on these, and each output is
// rounded once. Variables of other dtypes (labels, ids, a float32 state) are given as they are; a
// variable that is input and output is one copy, too, so that what works in place does. The copies
// are in the scratch memory of the Plan, twice the bytes of the 16-bit variables.
Kernel through_float32(const KernelContext& context);

// The same for int16 and the kernel for int32, and for both and that for int64; what is too large
// wraps around.
Kernel through_int32(const KernelContext& context);
Kernel through_int64(const KernelContext& context);

}  // namespace fluidcore
