#include "ops/program_runner.h"

#include <utility>

#include "fluidcore/op/infer.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "ops/op_runner.h"

namespace fluidcore {

std::string ProgramRunner::feed(const std::string& name, const Tensor& value) {
  const auto var = program_.block(0).var(name);
  var->set_shape(value.shape());
  var->set_dtype(value.dtype());
  var->set_is_data(true);
  feeds_.emplace_back(name, value);
  return name;
}

std::string ProgramRunner::feed_bool(const std::string& name, const std::vector<bool>& values) {
  return feed(name, tensor_of({static_cast<std::int64_t>(values.size())},
                              std::vector<double>(values.begin(), values.end()), DType::kBool));
}

std::string ProgramRunner::feed_int(const std::string& name, std::int64_t value) {
  return feed(name, tensor_of({1}, {static_cast<double>(value)}, DType::kInt64));
}

std::string ProgramRunner::array(const std::string& name, std::int64_t block) {
  program_.block(block).var(name)->set_type(VarType::kTensorArray);
  return name;
}

std::string ProgramRunner::given(const std::string& name,
                                 std::int64_t block,
                                 const TensorSpec& spec) {
  const auto var = program_.block(block).var(name);
  var->set_shape(spec.shape);
  var->set_dtype(spec.dtype);
  return name;
}

void ProgramRunner::add(OpDesc op, std::int64_t block) {
  add_op(builtin_ops(), program_, block, program_.block(block).ops().size(), std::move(op));
}

void ProgramRunner::add(const std::string& type,
                        const std::string& x,
                        const std::string& out,
                        std::int64_t block) {
  add(OpDesc(type, {{"X", {x}}}, {{"Out", {out}}}), block);
}

void ProgramRunner::add(const std::string& type,
                        const std::string& x,
                        const std::string& y,
                        const std::string& out,
                        std::int64_t block) {
  add(OpDesc(type, {{"X", {x}}, {"Y", {y}}}, {{"Out", {out}}}), block);
}

void ProgramRunner::increment(const std::string& name, std::int64_t block, double step) {
  add(OpDesc("increment", {{"X", {name}}}, {{"Out", {name}}}, {{"step", step}}), block);
}

std::vector<Tensor> ProgramRunner::run(const std::vector<std::string>& fetches) {
  Executor executor(builtin_ops());
  return executor.run(program_, feeds_, fetches, Scope::create(), {});
}

std::vector<double> ProgramRunner::values(const std::string& name) {
  return values_of(run({name})[0]);
}

}  // namespace fluidcore
