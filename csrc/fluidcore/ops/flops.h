#pragma once

#include <cstdint>

#include "fluidcore/op/op_def.h"

namespace fluidcore {

// Of an operator whose wanted outputs are each the sum of products of so many pairs: a product with
// its gradients, a convolution with its.
inline CountFlops flops_of_pairs(std::int64_t (*pairs)(const InferContext&)) {
  return [pairs](const InferContext& context) {
    std::int64_t outputs = 0;
    context.each_output([&](const auto& /*slot*/, std::size_t /*index*/) { ++outputs; });
    return 2 * outputs * pairs(context);
  };
}

}  // namespace fluidcore
