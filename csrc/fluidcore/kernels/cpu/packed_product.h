#pragma once

#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/epilogue.h"
#include "fluidcore/kernels/matmul_problem.h"

namespace fluidcore::cpu {

// The product of a matrix and one of weights, float32, which are kept in panels of columns: each is
// read as one stream, and multiplied by a few rows of the first matrix, which stay where they are,
// in registers. Sums are cut into pieces as those of Gemm, see sum_piece(): neither the number of
// threads nor the rows around it change a bit of a row.
//
// Empty for batches of matrices, for a vector times columns that each follow in memory, which
// prepare_gemv() reads as they are, and where elements of a row of the first matrix or of the
// result do not follow each other.
FusedKernel prepare_packed_product(const MatmulProblem& problem, Isa isa = cpu_isa());

}  // namespace fluidcore::cpu
