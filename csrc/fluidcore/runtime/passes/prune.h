#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fluidcore/runtime/passes/step.h"

namespace fluidcore {

// Keeps the steps that the fetches need, and those that write a variable that outlives the run.
Steps prune(Steps steps,
            const std::vector<std::string>& fetches,
            const std::function<bool(const std::string&)>& is_persistable);

}  // namespace fluidcore
