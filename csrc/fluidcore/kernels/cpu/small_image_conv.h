#pragma once

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/epilogue.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cpu {

// Convolutions whose filters are larger than their images, as the last ones of a network at a small
// batch: a product of the matrix of windows, which stays in the caches, and that of the filters,
// which is read once, one element after the other. For float32, images of two axes with their
// channels last, one group, and AVX2. The results do not depend on the number of threads.

// Whether the problem is such a convolution, and its image so small that this pays.
bool small_image_conv_pays(const ConvProblem& problem);

// The problem must be one of those above, whether it pays or not. The filters, in their order in
// the product, are kept.
FusedKernel prepare_small_image_conv(const ConvProblem& problem,
                                     const ScratchPtr& scratch,
                                     Isa isa = cpu_isa());

}  // namespace fluidcore::cpu
