#pragma once

#include <algorithm>

#include "fluidcore/gradcheck/function/infinity.h"

namespace fluidcore::gradcheck {

// The smallest interval that holds what was added; of nothing: [inf, -inf].
struct Hull {
  double low = kInfinity;
  double high = -kInfinity;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

}  // namespace fluidcore::gradcheck
