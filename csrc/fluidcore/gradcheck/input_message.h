#pragma once

#include <string>

#include "fluidcore/gradcheck/gradcheck.h"

namespace fluidcore::gradcheck {

// What was found of the gradient by one input, in a line or two, each after a line break.
std::string message_of(const InputCheck& check);

}  // namespace fluidcore::gradcheck
