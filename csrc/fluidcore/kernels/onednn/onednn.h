#pragma once

#include <cstdint>

#include "fluidcore/kernels/conv2d_problem.h"
#include "fluidcore/kernels/matmul_problem.h"
#include "fluidcore/kernels/pool2d_problem.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::onednn {

// Whether the build has oneDNN. Without it only this constant may be used:
//   if constexpr (onednn::kEnabled) ...
#ifdef FLUIDCORE_WITH_ONEDNN
inline constexpr bool kEnabled = true;
#else
inline constexpr bool kEnabled = false;
#endif

// Prepared float32 kernels, the same mathematics as those of the same names in kernels/cpu. Each is
// an empty function where oneDNN has nothing for the problem (or nothing that is fast); throws
// Error when oneDNN fails otherwise. Small problems are given to one thread, because waking a
// second one costs more than it saves.

Prepared2<float> prepare_matmul(const MatmulProblem& problem, const ScratchPtr& scratch);

Prepared2<float> prepare_conv2d(const Conv2dProblem& problem);
Prepared2<float> prepare_conv2d_input_grad(const Conv2dProblem& problem);
Prepared2<float> prepare_conv2d_filter_grad(const Conv2dProblem& problem);

Prepared1<float> prepare_pool2d(const Pool2dProblem& problem);
Prepared2<float> prepare_pool2d_grad(const Pool2dProblem& problem);

// Over rows of `columns` neighbours.
Prepared1<float> prepare_softmax(std::int64_t rows, std::int64_t columns);

}  // namespace fluidcore::onednn
