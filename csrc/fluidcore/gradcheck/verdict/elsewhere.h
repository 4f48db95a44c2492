#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/verdict/moved_inputs.h"

namespace fluidcore::gradcheck {

// The outputs where the inputs are moved to, as `size` numbers; nullopt where f throws, or has
// outputs of other sizes. The inputs are put back always. Throws Unrecoverable when the Function is
// interrupted.
std::optional<std::vector<double>> outputs_elsewhere(Function& function,
                                                     const Move& move,
                                                     std::size_t size);

}  // namespace fluidcore::gradcheck
