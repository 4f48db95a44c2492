#pragma once

#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/epilogue.h"
#include "fluidcore/kernels/matmul_problem.h"

namespace fluidcore::cpu {

// The product of a vector and a matrix of weights, float32, which are kept in panels of columns:
// these are read as one stream, faster than the rows of a matrix can be. Empty where the first
// operand is no vector, where the copy would be much larger than the matrix, and for layouts of the
// vectors that leave gaps between their elements. Results do not depend on the number of threads.
FusedKernel prepare_packed_gemv(const MatmulProblem& problem, Isa isa = cpu_isa());

}  // namespace fluidcore::cpu
