#pragma once

#include <cstdint>

namespace fluidcore::cpu {

struct CumsumOrder {
  bool exclusive;  // an element is the sum of those before it, without itself
  bool reverse;    // from the last element to the first
};

// The sums of all elements up to each one, over the middle dimension of x [outer, count, inner].
// Added one by one in float64, or for integers in int64, which wraps around; so the result does not
// depend on the number of threads. `out` may be x. For the floating types, int32 and int64.
template <class T>
void cumsum(std::int64_t outer,
            std::int64_t count,
            std::int64_t inner,
            CumsumOrder order,
            const T* x,
            T* out);

// As cumsum, the products. CumsumOrder::exclusive: the first is 1.
template <class T>
void cumprod(std::int64_t outer,
             std::int64_t count,
             std::int64_t inner,
             CumsumOrder order,
             const T* x,
             T* out);

}  // namespace fluidcore::cpu
