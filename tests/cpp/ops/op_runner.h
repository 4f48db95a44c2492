#pragma once

#include <map>
#include <string>
#include <vector>

#include "fluidcore/op/op_def.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// An operator with values for its inputs, one variable in each slot. Variables are named after
// their slots.
struct OpCase {
  std::string type;
  std::map<std::string, Tensor> inputs;
  std::vector<std::string> outputs;
  AttributeMap attrs = {};
  std::vector<std::string> unwanted = {};  // output slots that get no variable
};

// Numbers in (-1, 1) that look random; equal for equal seeds.
Tensor random_tensor(Shape shape, DType dtype, std::uint64_t seed);
Tensor tensor_of(Shape shape, const std::vector<double>& values, DType dtype = DType::kFloat64);
std::vector<double> values_of(const Tensor& tensor);
Tensor cast_to(const Tensor& tensor, DType dtype);

// Runs the operator through an Executor; returns its outputs by slot.
std::map<std::string, Tensor> run_op(const OpCase& op, int threads = 1);

// The gradients, by input slot, of the sum over `output` times `cotangent`.
std::map<std::string, Tensor> run_grad(const OpCase& op,
                                       const std::string& output,
                                       const Tensor& cotangent,
                                       const std::vector<std::string>& wanted,
                                       int threads = 1);

// Central differences of the same sum with respect to one input.
std::vector<double> numerical_grad(OpCase op,
                                   const std::string& output,
                                   const Tensor& cotangent,
                                   const std::string& input);

}  // namespace fluidcore
