#pragma once

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/prepared.h"

namespace fluidcore::cpu {

// Convolutions as matrix products over the input's windows, for T float or double. The results do
// not depend on the number of threads.
template <class T>
Prepared2<T> prepare_conv(const ConvProblem& problem);  // prepared(input, filter, output)
template <class T>
Prepared2<T> prepare_conv_input_grad(
    const ConvProblem& problem);  // (output_grad, filter, input_grad)
template <class T>
Prepared2<T> prepare_conv_filter_grad(
    const ConvProblem& problem);  // (input, output_grad, filter_grad)

}  // namespace fluidcore::cpu
