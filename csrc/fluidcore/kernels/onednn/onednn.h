#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/matmul_problem.h"
#include "fluidcore/kernels/pool_problem.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::onednn {

// Whether the build has oneDNN. Without it only this constant may be used:
//   if constexpr (onednn::kEnabled) ...
#ifdef FLUIDCORE_WITH_ONEDNN
inline constexpr bool kEnabled = true;
#else
inline constexpr bool kEnabled = false;
#endif

// Prepared kernels, of float32 but where T says more, the same mathematics as those of the same
// names in kernels/cpu. Each is an empty function where oneDNN has nothing for the problem (or
// nothing that is fast); throws Error when oneDNN fails otherwise. Small problems are given to one
// thread, because waking a second one costs more than it saves.

// T is float or BFloat16, which is empty where the processor has no products of it.
template <class T>
Prepared2<T> prepare_matmul(const MatmulProblem& problem, const ScratchPtr& scratch);
// Of a second operand without batch dimensions, kept in the layout that oneDNN likes best.
template <class T>
PreparedWeights<T> prepare_matmul_by_weights(const MatmulProblem& problem,
                                             const ScratchPtr& scratch);

// A product whose rows are calculated in blocks, each by one thread; empty where C is not one
// matrix, row by row.
struct MatmulBlocks {
  explicit operator bool() const { return begin != nullptr; }

  // Comes first in each run. What is made of the second operand for itself is made again when the
  // version is another one than in the last run, or 0.
  std::function<void(const float* y, std::uint64_t version)> begin = nullptr;
  // A block, by a worker who does one at a time: its rows of the first operand and of the product.
  std::vector<std::function<void(const float* x, float* out)>> workers = {};
};
// `problem` is that of one block.
MatmulBlocks prepare_matmul_blocks(const MatmulProblem& problem);

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
