#pragma once

#include <algorithm>
#include <limits>

namespace fluidcore::gradcheck {

// The smallest interval that holds what was added; of nothing: [inf, -inf].
struct Hull {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

}  // namespace fluidcore::gradcheck
