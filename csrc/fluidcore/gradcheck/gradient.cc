#include "fluidcore/gradcheck/gradient.h"

#include "fluidcore/gradcheck/random_values.h"
#include "fluidcore/gradcheck/unrecoverable.h"

namespace fluidcore::gradcheck {

GradientPair::Both GradientPair::at(const std::vector<Tensor>& x,
                                    const std::vector<Tensor>& v) const {
  return interruptible(f.interruption(), [&]() -> Both {
    return {kernel.at(x, v), formula.at(in_float64(x), in_float64(v))};
  });
}

}  // namespace fluidcore::gradcheck
