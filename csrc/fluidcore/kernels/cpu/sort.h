#pragma once

#include <cstdint>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/order.h"

namespace fluidcore::cpu {

// An element as a number that orders like it, and where it is. NaN has the greatest number; 0 and
// -0 have the same.
struct OrderedKey {
  std::uint64_t key;
  std::int64_t place;
};

// indices [outer, count, inner]: where the elements of the sorted tensor are in x; equal ones stay
// in their order, and NaN counts as greater than everything else. `memory` is for sort_keys(dim)
// keys.
std::int64_t sort_keys(const OrderedDim& dim);
void sort_indices(
    const OrderedDim& dim, DType dtype, const void* x, OrderedKey* memory, std::int64_t* indices);

// indices [rows, k]: the positions of the k greatest of each of the rows x [rows, width], greatest
// first; of equal elements the first ones, and NaN before everything else. 1 <= k <= width.
// `memory` is for top_keys(rows, k) keys.
std::int64_t top_keys(std::int64_t rows, std::int64_t k);
void find_greatest(std::int64_t rows,
                   std::int64_t width,
                   std::int64_t k,
                   DType dtype,
                   const void* x,
                   OrderedKey* memory,
                   std::int64_t* indices);

}  // namespace fluidcore::cpu
