#pragma once

#include <cstdint>
#include <functional>

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

// Convolutions of few filters, for float32 images with their channels first: a vector holds
// neighbouring outputs of a line, where other kernels hold the results of as many filters. The sum
// over the taps of a filter is taken in their order in memory, so that how the work is cut changes
// no bit.

// Whether the problem is one of these, and more elements of its vectors are of use than of vectors
// of filters.
bool direct_conv_pays(const ConvProblem& problem, Isa isa = cpu_isa());

// Calculates `count` planes of the output: `output` points to plane `first`, in the order of
// memory, `input` to the image that this plane is of. May be called by several threads at once.
using DirectConv = std::function<void(std::int64_t first,
                                      std::int64_t count,
                                      const float* input,
                                      const float* filter,
                                      float* output)>;

// The problem must be one that is for these kernels, whether they pay or not.
bool has_direct_conv(const ConvProblem& problem, Isa isa = cpu_isa());
DirectConv prepare_direct_conv(const ConvProblem& problem, Isa isa = cpu_isa());

}  // namespace fluidcore::cpu
