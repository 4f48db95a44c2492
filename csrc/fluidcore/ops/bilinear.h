#pragma once

#include <string>

#include "fluidcore/op/grad_context.h"

namespace fluidcore {

// The gradient maker of `<type>_grad`, where `<type>` is linear in each of its inputs `x` and `y`:
// the gradients of such a gradient are operators of the same two types.
GradMaker bilinear_grad_grad(std::string type, std::string x, std::string y, std::string out);

}  // namespace fluidcore
