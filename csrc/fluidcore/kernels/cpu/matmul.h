#pragma once

#include "fluidcore/kernels/matmul_problem.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cpu {

// Batched products (see MatmulProblem) for T float or double: prepared(a, b, c). The result does
// not depend on the number of threads.
template <class T>
Prepared2<T> prepare_matmul(const MatmulProblem& problem, const ScratchPtr& scratch);

}  // namespace fluidcore::cpu
