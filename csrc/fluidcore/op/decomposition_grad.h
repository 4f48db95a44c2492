#pragma once

#include <vector>

#include "fluidcore/op/grad_context.h"
#include "fluidcore/op/op_registry.h"

namespace fluidcore {

// The gradient of the operator context.forward(), which has no gradient maker but a decomposition:
// the steps of the decomposition that are read, calculated again under names of their own, then the
// gradients of the steps, last step first.
std::vector<OpDesc> grad_of_decomposition(const OpRegistry& registry, GradContext& context);

}  // namespace fluidcore
