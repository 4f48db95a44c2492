#pragma once

#include "fluidcore/kernels/matmul_problem.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cuda {

// C = A B as the problem says, on a CUDA device: c is written, added to where the problem adds
// products. float32 is calculated in float32, not in TF32; 16-bit floats are added in float32.
template <class T>
Prepared2<T> prepare_matmul(DeviceContext& device,
                            const MatmulProblem& problem,
                            const ScratchPtr& scratch);

}  // namespace fluidcore::cuda
