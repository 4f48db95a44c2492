#pragma once

#include "fluidcore/kernels/pool2d_problem.h"
#include "fluidcore/kernels/prepared.h"

namespace fluidcore::cpu {

// Pooling for T float or double; a NaN in a window is its maximum.
template <class T>
Prepared1<T> prepare_pool2d(const Pool2dProblem& problem);  // prepared(x, out)

// The gradient of a maximum goes to the first one of the window.
template <class T>
Prepared2<T> prepare_pool2d_grad(const Pool2dProblem& problem);  // prepared(x, out_grad, x_grad)

// What `values` has where x has the first maximum of a window: prepared(x, values, out).
template <class T>
Prepared2<T> prepare_pool2d_pick(const Pool2dProblem& problem);

}  // namespace fluidcore::cpu
