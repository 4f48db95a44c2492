#include "fluidcore/gradcheck/function/gradient.h"

#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"

namespace fluidcore::gradcheck {

GradientPair::Both GradientPair::at(const std::vector<Tensor>& x,
                                    const std::vector<Tensor>& v) const {
  return interruptible(f.interruption(), [&]() -> Both {
    const DType wide = formula.inputs().at(0).dtype();
    return {kernel.at(x, v), formula.at(converted(x, wide), converted(v, wide))};
  });
}

}  // namespace fluidcore::gradcheck
