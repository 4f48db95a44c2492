#pragma once

#include <cstdint>
#include <functional>

#include "fluidcore/kernels/pool_problem.h"
#include "fluidcore/kernels/prepared.h"

namespace fluidcore::cpu {

// Pooling for T float or double; a NaN in a window is its maximum.
template <class T>
Prepared1<T> prepare_pool(const PoolProblem& problem);  // prepared(x, out)

// The gradient of a maximum goes to the first one of the window.
template <class T>
Prepared2<T> prepare_pool_grad(const PoolProblem& problem);  // prepared(x, out_grad, x_grad)

// What `values` has where x has the first maximum of a window: prepared(x, values, out).
template <class T>
Prepared2<T> prepare_pool_pick(const PoolProblem& problem);

// The maxima, and where the first of each window is in its plane of the input.
template <class T>
using MaxPoolWithIndex = std::function<void(const T* x, T* out, std::int32_t* index)>;
template <class T>
MaxPoolWithIndex<T> prepare_max_pool_with_index(const PoolProblem& problem);

}  // namespace fluidcore::cpu
