#pragma once

#include <limits>

namespace fluidcore::gradcheck {

// A bound or an error bar that says nothing.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace fluidcore::gradcheck
