#include "fluidcore/gradcheck/function/gradient.h"

#include <exception>

#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"

namespace fluidcore::gradcheck {

std::vector<Tensor> like_outputs(Function& f, const std::vector<double>& cotangent) {
  std::vector<Tensor> parts;
  auto value = cotangent.begin();
  const auto& outputs =
      interruptible(f.interruption(), [&]() -> const std::vector<Tensor>& { return f.run(); });
  for (const Tensor& output : outputs) {
    Tensor& part = parts.emplace_back(converted(output, f.inputs().front().dtype()));
    for (std::int64_t i = 0; i < part.size(); ++i) part.set_float_element(i, *value++);
  }
  return parts;
}

const std::vector<Tensor>* gradients_at(Gradient& gradient,
                                        const std::vector<Tensor>& x,
                                        const std::vector<Tensor>& v) {
  try {
    return &interruptible(gradient.interruption(),
                          [&]() -> const std::vector<Tensor>& { return gradient.at(x, v); });
  } catch (const std::exception&) {
    return nullptr;
  }
}

GradientPair::Both GradientPair::at(const std::vector<Tensor>& x,
                                    const std::vector<Tensor>& v) const {
  return interruptible(f.interruption(), [&]() -> Both {
    const DType wide = formula.inputs().at(0).dtype();
    return {kernel.at(x, v), formula.at(converted(x, wide), converted(v, wide))};
  });
}

}  // namespace fluidcore::gradcheck
