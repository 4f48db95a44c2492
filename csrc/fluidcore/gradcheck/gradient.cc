#include "fluidcore/gradcheck/gradient.h"

#include "fluidcore/gradcheck/random_values.h"
#include "fluidcore/gradcheck/unrecoverable.h"

namespace fluidcore::gradcheck {

GradientPair::Both GradientPair::at(const std::vector<Tensor>& x,
                                    const std::vector<Tensor>& v) const {
  return interruptible(f.interruption(), [&]() -> Both {
    const DType wide = formula.inputs().at(0).dtype();
    return {kernel.at(x, v), formula.at(converted(x, wide), converted(v, wide))};
  });
}

}  // namespace fluidcore::gradcheck
