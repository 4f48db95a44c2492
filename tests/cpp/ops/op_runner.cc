#include "ops/op_runner.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "fluidcore/op/infer.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"

namespace fluidcore {

namespace {

// A program of one block, what is fed to it, and what is run.
class Session {
 public:
  explicit Session(const OpCase& op) {
    SlotMap inputs;
    SlotMap outputs;
    for (const auto& [slot, tensor] : op.inputs) {
      feed(slot, tensor);
      inputs[slot] = {slot};
    }
    for (const std::string& slot : op.outputs) outputs[slot] = {slot};
    for (const std::string& slot : op.unwanted) outputs[slot] = {std::string(kEmptyName)};
    add(OpDesc(op.type, inputs, outputs, op.attrs));
  }

  void feed(const std::string& name, const Tensor& tensor) {
    const auto var = program_.block(0).var(name);
    var->set_shape(tensor.shape());
    var->set_dtype(tensor.dtype());
    var->set_is_data(true);
    feeds_.emplace_back(name, tensor);
  }
  void add(OpDesc op) {
    BlockDesc& block = program_.block(0);
    add_op(builtin_ops(), program_, 0, block.ops().size(), std::move(op));
  }
  const OpDesc& op(std::size_t index) { return *program_.block(0).ops()[index]; }

  std::map<std::string, Tensor> run(const std::vector<std::string>& names, int threads) {
    Executor executor(builtin_ops());
    const std::vector<Tensor> values =
        executor.run(program_, feeds_, names, Scope::create(), {.threads = threads});
    std::map<std::string, Tensor> result;
    for (std::size_t i = 0; i < names.size(); ++i) result[names[i]] = values[i];
    return result;
  }

 private:
  ProgramDesc program_;
  NamedTensors feeds_;
};

double weighted_sum(const Tensor& values, const Tensor& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    sum += values.get_float_element(i) * weights.get_float_element(i);
  }
  return sum;
}

}  // namespace

Tensor random_tensor(Shape shape, DType dtype, std::uint64_t seed) {
  Tensor tensor({std::move(shape), dtype});
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    tensor.set_float_element(i, static_cast<double>(state >> 40) / 0x1p23 - 1.0);
  }
  return tensor;
}

Tensor tensor_of(Shape shape, const std::vector<double>& values, DType dtype) {
  Tensor tensor({std::move(shape), dtype});
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_float_element(i, values[static_cast<std::size_t>(i)]);
  }
  return tensor;
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.get_float_element(i));
  return values;
}

Tensor cast_to(const Tensor& tensor, DType dtype) {
  return tensor_of(tensor.shape(), values_of(tensor), dtype);
}

std::map<std::string, Tensor> run_op(const OpCase& op, int threads) {
  return Session(op).run(op.outputs, threads);
}

std::map<std::string, Tensor> run_grad(const OpCase& op,
                                       const std::string& output,
                                       const Tensor& cotangent,
                                       const std::vector<std::string>& wanted,
                                       int threads) {
  Session session(op);
  session.feed(grad_name(output), cotangent);
  std::set<std::string> no_grad;
  for (const auto& [slot, tensor] : op.inputs) no_grad.insert(slot);
  for (const std::string& slot : wanted) no_grad.erase(slot);
  GradContext context(session.op(0), no_grad);
  std::set<std::string> unfed;
  for (const std::string& slot : op.outputs) {
    if (slot != output) unfed.insert(grad_name(slot));
  }
  for (OpDesc& grad : builtin_ops().grad_ops(context)) {
    // What the gradients of other outputs add counts as zero.
    const std::vector<std::string> read = grad.input_arg_names();
    const bool is_fed = std::none_of(read.begin(), read.end(),
                                     [&](const auto& name) { return unfed.contains(name); });
    if (is_fed) session.add(std::move(grad));
  }
  std::vector<std::string> names;
  for (const std::string& slot : wanted) names.push_back(grad_name(slot));
  return session.run(names, threads);
}

std::vector<double> numerical_grad(OpCase op,
                                   const std::string& output,
                                   const Tensor& cotangent,
                                   const std::string& input) {
  constexpr double kStep = 1e-5;
  const Tensor x = op.inputs.at(input).clone();
  op.inputs[input] = x;
  const auto value_at = [&](std::int64_t index, double value) {
    const double before = x.get_float_element(index);
    Tensor(x).set_float_element(index, value);
    const double result = weighted_sum(run_op(op).at(output), cotangent);
    Tensor(x).set_float_element(index, before);
    return result;
  };
  std::vector<double> grad;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double at = x.get_float_element(i);
    grad.push_back((value_at(i, at + kStep) - value_at(i, at - kStep)) / (2 * kStep));
  }
  return grad;
}

}  // namespace fluidcore
