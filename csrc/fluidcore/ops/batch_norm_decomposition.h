#pragma once

#include <string>

#include "fluidcore/op/decomposition.h"

namespace fluidcore {

template <class Context>
bool channels_last(const Context& context) {
  return context.template attr<std::string>("data_layout") == "NHWC";
}

// batch_norm_grad, or c_batch_norm_grad, in operators that have gradients.
void decompose_batch_norm_grad(Decomposition& d, bool of_all_ranks);

}  // namespace fluidcore
