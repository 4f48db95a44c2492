#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// What element i of an input becomes, which is x now.
using Move = std::function<double(std::size_t input, std::int64_t i, double x)>;

// The inputs of f, moved and rounded to their dtypes.
std::vector<Tensor> moved_inputs(const Function& function, const Move& move);

// The outputs there, as `size` numbers; nullopt where f throws, or has outputs of other sizes. The
// inputs are put back always. Throws Unrecoverable when the Function is interrupted.
std::optional<std::vector<double>> outputs_elsewhere(Function& function,
                                                     const Move& move,
                                                     std::size_t size);

}  // namespace fluidcore::gradcheck
