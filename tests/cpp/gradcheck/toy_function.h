#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/tensor/tensor.h"
#include "ops/op_runner.h"

namespace fluidcore::gradcheck {

using fluidcore::tensor_of;
// With one dimension.
inline Tensor tensor_of(const std::vector<double>& values, DType dtype = DType::kFloat64) {
  Tensor tensor({Shape{static_cast<std::int64_t>(values.size())}, dtype});
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.set_float_element(static_cast<std::int64_t>(i), values[i]);
  }
  return tensor;
}

// A Function made of C++: from the inputs to the outputs.
class ToyFunction final : public Function {
 public:
  using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  ToyFunction(std::vector<Tensor> inputs, Body body)
      : inputs_(std::move(inputs)), body_(std::move(body)) {}

  // One input and one output of its dtype, element by element, calculated in float64.
  static ToyFunction elementwise(const Tensor& x, std::function<double(double)> f) {
    return ToyFunction({x}, [f = std::move(f)](const std::vector<Tensor>& inputs) {
      std::vector<double> y = values_of(inputs[0]);
      for (double& value : y) value = f(value);
      return std::vector<Tensor>{tensor_of(y, inputs[0].dtype())};
    });
  }

  const std::vector<Tensor>& inputs() const override { return inputs_; }
  const std::vector<Tensor>& run() override { return outputs_ = body_(inputs_); }
  std::unique_ptr<Function> fork(std::optional<std::size_t> /*only*/) const override {
    std::vector<Tensor> copies;
    for (const Tensor& input : inputs_) copies.push_back(input.clone());
    return std::make_unique<ToyFunction>(std::move(copies), body_);
  }

 private:
  std::vector<Tensor> inputs_;
  Body body_;
  std::vector<Tensor> outputs_;
};

}  // namespace fluidcore::gradcheck
