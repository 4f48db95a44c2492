#pragma once

#include <functional>

#include "fluidcore/kernels/matmul_problem.h"
#include "fluidcore/op/contexts.h"
#include "fluidcore/op/kernel.h"

namespace fluidcore {

// The product `problem` of float32 by `run`; or, where rows follow that read it and its result is
// too large to stay in the cache, some rows of it at a time and what follows them.
Kernel product_in_blocks(std::function<void()> run,
                         const MatmulProblem& problem,
                         Arg<const float> x,
                         Arg<const float> y,
                         Arg<float> out);

}  // namespace fluidcore
