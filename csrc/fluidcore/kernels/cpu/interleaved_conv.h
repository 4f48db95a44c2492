#pragma once

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cpu {

// Convolutions of few channels or filters over many images, and their gradients, for float32 with
// the channels first: a vector holds the same element of as many images, so that none of it is
// wasted, whatever the other extents are. The order of sums is the problem's, on any number of
// threads.

// Whether more of these vectors is of use than of blocks of channels and filters, as other kernels
// have, and lines are not too long for the caches.
bool interleaved_conv_pays(const ConvProblem& problem, Isa isa = cpu_isa());

// Problems must be those of has_...(), whether they pay or not.

bool has_interleaved_conv(const ConvProblem& problem);
// prepared(input, filter, output)
Prepared2<float> prepare_interleaved_conv(const ConvProblem& problem,
                                          ScratchPtr scratch,
                                          Isa isa = cpu_isa());

// A convolution itself, of the filters from their last tap to the first: it takes a stride of 1.
bool has_interleaved_input_grad(const ConvProblem& problem);
// prepared(output_grad, filter, input_grad)
Prepared2<float> prepare_interleaved_input_grad(const ConvProblem& problem,
                                                const ScratchPtr& scratch,
                                                Isa isa = cpu_isa());

bool has_interleaved_filter_grad(const ConvProblem& problem);
// prepared(input, output_grad, filter_grad)
Prepared2<float> prepare_interleaved_filter_grad(const ConvProblem& problem,
                                                 const ScratchPtr& scratch,
                                                 Isa isa = cpu_isa());

}  // namespace fluidcore::cpu
