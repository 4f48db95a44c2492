#pragma once

#include <cstdint>

#include "fluidcore/base/float16.h"
#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/epilogue.h"
#include "fluidcore/kernels/matmul_problem.h"
#include "fluidcore/kernels/pool_problem.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"
#include "fluidcore/version.h"

namespace fluidcore::onednn {

// Whether the build has oneDNN. Without it only this constant may be used:
//   if constexpr (onednn::kEnabled) ...
inline constexpr bool kEnabled = !kOnednnVersion.empty();

// Prepared kernels, of float32 but where T says more, the same mathematics as those of the same
// names in kernels/cpu. Each is an empty function where oneDNN has nothing for the problem (or
// nothing that is fast); throws Error when oneDNN fails otherwise. Small problems are given to one
// thread, because waking a second one costs more than it saves.

// T is float or BFloat16, which is empty where the processor has no products of it.
template <class T>
Prepared2<T> prepare_matmul(const MatmulProblem& problem, const ScratchPtr& scratch);
// Of a second operand without batch dimensions, kept in the layout that oneDNN likes best.
PreparedWeights<BFloat16> prepare_matmul_by_weights(const MatmulProblem& problem,
                                                    const ScratchPtr& scratch);
// Of matrices, with the parts of an epilogue but relu.
FusedKernel prepare_fused_matmul(const MatmulProblem& problem,
                                 const EpilogueParts& parts,
                                 const ScratchPtr& scratch);
template <class T>
PreparedWeights<T> prepare_conv(const ConvProblem& problem);
template <class T>
Prepared2<T> prepare_conv_input_grad(const ConvProblem& problem);
template <class T>
Prepared2<T> prepare_conv_filter_grad(const ConvProblem& problem);

template <class T>
Prepared1<T> prepare_pool(const PoolProblem& problem);
template <class T>
Prepared2<T> prepare_pool_grad(const PoolProblem& problem);

}  // namespace fluidcore::onednn
