// Builds a program, prints it and runs it, without Python, but for the package that holds the library:
//
//   cmake -G Ninja -B build -D fluidcore_DIR=$(python -m fluidcore.cmake_dir)
//   cmake --build build && build/example

#include <algorithm>
#include <cstdio>
#include <string>

#include "fluidcore/ops/register_ops.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"

namespace fc = fluidcore;

namespace {

fc::Tensor filled(fc::Shape shape, float value) {
  fc::Tensor tensor({std::move(shape), fc::DType::kFloat32});
  std::fill_n(tensor.data<float>(), tensor.size(), value);
  return tensor;
}

// y = relu(x w), with any number of rows.
void build(fc::ProgramDesc& program) {
  fc::BlockDesc& block = program.block(0);
  const auto x = block.var("x");
  x->set_shape({-1, 3});
  x->set_dtype(fc::DType::kFloat32);
  x->set_is_data(true);
  const auto w = block.var("w");
  w->set_shape({3, 2});
  w->set_dtype(fc::DType::kFloat32);
  w->set_persistable(true);
  block.append_op(fc::OpDesc("mul", {{"X", {"x"}}, {"Y", {"w"}}}, {{"Out", {"product"}}}, {}));
  block.append_op(fc::OpDesc("relu", {{"X", {"product"}}}, {{"Out", {"y"}}}, {}));
}

}  // namespace

int main() {
  fc::ProgramDesc program;
  build(program);
  std::printf("%s\n", to_string(program).c_str());

  const auto scope = fc::Scope::create();
  scope->var("w")->tensor() = filled({3, 2}, 0.5F);
  fc::Executor executor(fc::builtin_ops());
  const fc::NamedTensors feeds = {{"x", filled({4, 3}, 2.0F)}};
  const fc::Tensor y = executor.run(program, feeds, {"y"}, scope, {})[0];
  std::printf("y has %lld elements, the first is %g\n", static_cast<long long>(y.size()),
              y.get_float_element(0));
  return y.get_float_element(0) == 3.0 ? 0 : 1;
}
