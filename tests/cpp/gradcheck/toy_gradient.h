#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "fluidcore/gradcheck/function/gradient.h"
#include "gradcheck/toy_function.h"

namespace fluidcore::gradcheck {

// A Gradient made of C++: from the point and the cotangents to the gradients.
class ToyGradient final : public Gradient {
 public:
  using Body =
      std::function<std::vector<Tensor>(const std::vector<Tensor>&, const std::vector<Tensor>&)>;

  ToyGradient(std::vector<Tensor> inputs, Body body, bool has_fixed_cotangent = false)
      : inputs_(std::move(inputs)),
        body_(std::move(body)),
        has_fixed_cotangent_(has_fixed_cotangent) {}

  // Of one input and one output of its size, v g(x) element by element, calculated in float64.
  static ToyGradient elementwise(const Tensor& x, std::function<double(double)> g) {
    return ToyGradient({x}, [g = std::move(g)](const auto& inputs, const auto& cotangents) {
      const std::vector<double> at = values_of(inputs[0]);
      std::vector<double> result = values_of(cotangents[0]);
      for (std::size_t i = 0; i < at.size(); ++i) result[i] *= g(at[i]);
      return std::vector<Tensor>{tensor_of(result, inputs[0].dtype())};
    });
  }

  const std::vector<Tensor>& inputs() const override { return inputs_; }
  bool has_fixed_cotangent() const override { return has_fixed_cotangent_; }
  const std::vector<Tensor>& at(const std::vector<Tensor>& x,
                                const std::vector<Tensor>& v) override {
    return gradients_ = body_(x, v);
  }

 private:
  std::vector<Tensor> inputs_;
  Body body_;
  bool has_fixed_cotangent_;
  std::vector<Tensor> gradients_;
};

}  // namespace fluidcore::gradcheck
