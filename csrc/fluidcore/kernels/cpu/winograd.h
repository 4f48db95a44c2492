#pragma once

#include <cstdint>
#include <functional>

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cpu/isa.h"
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

// What is done to each output before it is stored: times the scale and + bias of its filter,
// + residual, of the output's shape, and negative numbers become 0.
struct ConvEpilogue {
  const float* scale = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  bool relu = false;
};

// (input, filter, version of the filter, output, epilogue). The transformed filter is kept once a
// version came twice, and made anew when the version is another one or 0.
using WinogradConv = std::function<void(const float* input,
                                        const float* filter,
                                        std::uint64_t version,
                                        float* output,
                                        const ConvEpilogue&)>;

// The problem must be one of those above, whether it pays or not.
WinogradConv prepare_winograd(const ConvProblem& problem,
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
