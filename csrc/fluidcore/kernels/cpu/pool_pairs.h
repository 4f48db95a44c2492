#pragma once

#include <cstdint>
#include <functional>

#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/pool_problem.h"

namespace fluidcore::cpu {

// Pooling of float32 with the channels first, by windows two columns wide that do not overlap, as
// networks that halve their images have. A NaN in a window is its maximum.

// Whether the problem is one of these, and no window has padding on its left or right.
bool has_pool_pairs(const PoolProblem& problem);

// (number of planes, x, out), of planes that follow each other; for several threads at once.
using PoolPairs = std::function<void(std::int64_t planes, const float* x, float* out)>;
PoolPairs prepare_pool_pairs(const PoolProblem& problem, Isa isa = cpu_isa());

// The gradient, where windows have no element in common and no padding: that of a maximum goes to
// the first one of the window.
bool has_pool_pairs_grad(const PoolProblem& problem);
// (number of planes, x, out_grad, x_grad), likewise.
using PoolPairsGrad =
    std::function<void(std::int64_t planes, const float* x, const float* out_grad, float* x_grad)>;
PoolPairsGrad prepare_pool_pairs_grad(const PoolProblem& problem, Isa isa = cpu_isa());

}  // namespace fluidcore::cpu
