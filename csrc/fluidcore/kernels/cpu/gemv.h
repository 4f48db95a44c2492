#pragma once

#include "fluidcore/kernels/matmul_problem.h"
#include "fluidcore/kernels/prepared.h"

namespace fluidcore::cpu {

// The product of a vector and a matrix, which is as fast as the matrix is read: nothing is packed.
// Null where neither operand is a vector, and for layouts that leave gaps between the elements.
// Results do not depend on the number of threads. T is float or double.
template <class T>
Prepared2<T> prepare_gemv(const MatmulProblem& problem);

}  // namespace fluidcore::cpu
