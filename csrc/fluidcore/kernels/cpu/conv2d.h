#pragma once

#include "fluidcore/kernels/conv2d_problem.h"
#include "fluidcore/kernels/prepared.h"

namespace fluidcore::cpu {

// Convolutions as matrix products over the input's windows, for T float or double. The results do
// not depend on the number of threads.
template <class T>
Prepared2<T> prepare_conv2d(const Conv2dProblem& problem);  // prepared(input, filter, output)
template <class T>
Prepared2<T> prepare_conv2d_input_grad(
    const Conv2dProblem& problem);  // (output_grad, filter, input_grad)
template <class T>
Prepared2<T> prepare_conv2d_filter_grad(
    const Conv2dProblem& problem);  // (input, output_grad, filter_grad)

}  // namespace fluidcore::cpu
