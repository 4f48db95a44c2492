#pragma once

#include <cstdint>

namespace fluidcore::cpu {

// The gradient of a maximum, or a minimum, over the middle dimension of x [outer, count, inner]:
// out and out_grad are [outer, inner], and of the elements that are not below their maximum, or
// above their minimum, the first one in x_grad gets all of out_grad, the others 0. x_grad may be x.
// For the floating types.
template <bool of_minimum = false, class T>
void max_grad(std::int64_t outer,
              std::int64_t count,
              std::int64_t inner,
              const T* x,
              const T* out,
              const T* out_grad,
              T* x_grad);

}  // namespace fluidcore::cpu
