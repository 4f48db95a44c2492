#pragma once

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/epilogue.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cpu {

// Convolutions by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray 2015, arXiv:1509.09308):
// a tile of 2 x 2 outputs takes 16 multiplications for each channel and filter instead of 36. For
// float32, 3 x 3 filters, stride and dilation 1, one group, channels last and AVX2. The transforms
// have coefficients 0, 1 and 1/2 only, so that the rounding errors are about those of the
// definition; but an infinity or NaN reaches all outputs of the tiles that read it.
//
// The results do not depend on the number of threads. Scratch memory does not grow with the batch.

// Whether the problem is such a convolution, and the multiplications that are saved are worth more
// than the memory that the transforms move.
bool winograd_pays(const ConvProblem& problem);

// The problem must be one of those above, whether it pays or not. The transformed filter is kept
// once a version came twice.
FusedKernel prepare_winograd(const ConvProblem& problem,
                             const ScratchPtr& scratch,
                             Isa isa = cpu_isa());
// (output_grad, filter, input_grad)
Prepared2<float> prepare_winograd_input_grad(const ConvProblem& problem,
                                             const ScratchPtr& scratch,
                                             Isa isa = cpu_isa());
// (input, output_grad, filter_grad)
Prepared2<float> prepare_winograd_filter_grad(const ConvProblem& problem,
                                              const ScratchPtr& scratch,
                                              Isa isa = cpu_isa());

}  // namespace fluidcore::cpu
