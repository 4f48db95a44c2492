#pragma once

#include <cstdint>

#include "fluidcore/base/dtype.h"

namespace fluidcore::cpu {

// A tensor [outer, count, inner] of any element type, ordered along its middle dimension.
struct OrderedDim {
  std::int64_t outer;
  std::int64_t count;
  std::int64_t inner;
  bool descending;  // the greatest first, else the least
};

// indices [outer, inner]: where the element is that comes first, of equal ones the first, and NaN
// before everything else. `count` is at least 1.
void find_first(const OrderedDim& dim, DType dtype, const void* x, std::int64_t* indices);

}  // namespace fluidcore::cpu
