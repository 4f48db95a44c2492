#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fluidcore/base/dtype.h"

namespace fluidcore::cpu {

// out[i] = formula of in[...][i] for i in [0, size).
using FloatFormula =
    std::function<void(std::int64_t size, float* out, const std::vector<const float*>& in)>;

// Calculates `formula` on tensors of float16 or bfloat16, tile by tile in the cache: one loop for
// all formulas, where a loop for each would be more code than it is worth. `out` may be one of the
// inputs.
void calculate_in_tiles(DType dtype,
                        std::int64_t size,
                        void* out,
                        const std::vector<const void*>& in,
                        const FloatFormula& formula);

}  // namespace fluidcore::cpu
