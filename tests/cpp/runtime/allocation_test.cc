// Replaces the global operator new in this program, to count what a run allocates.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/program_function.h"
#include "fluidcore/op/infer.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "runtime/toy_control_ops.h"

namespace {

std::atomic<int> allocations = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace fluidcore {
namespace {

TEST(Allocation, LaterRunsOfAProgramAllocateNothing) {
  const OpRegistry ops = toy_ops();
  ProgramDesc program;
  const auto weight = program.block(0).var("a_weight_with_a_long_name");
  weight->set_shape({1000});
  weight->set_persistable(true);
  const auto add = [&](const char* type, const std::string& x, const std::string& out) {
    add_op(ops, program, 0, program.block(0).ops().size(),
           OpDesc(type, {{"X", {x}}}, {{"Out", {out}}}));
  };
  add("add_one", weight->name(), "a_temporary_with_a_long_name");
  add("check", "a_temporary_with_a_long_name", "another_temporary_with_a_long_name");
  add("reverse", "another_temporary_with_a_long_name", weight->name());
  const auto scope = Scope::create();
  Tensor start({{1000}, DType::kFloat32});
  std::fill_n(start.data<float>(), start.size(), 1.0f);
  scope->var(weight->name())->tensor() = start;

  Executor executor(ops);
  const NamedTensors feeds;
  const std::vector<std::string> fetches;
  const Executor::Options options;
  executor.run(program, feeds, fetches, scope, options);
  const int before = allocations;
  for (int i = 0; i < 10; ++i) executor.run(program, feeds, fetches, scope, options);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(scope->find_var(weight->name())->tensor().get_float_element(0), 12);
}

TEST(Allocation, StepsOfALoopAllocateNothing) {
  const OpRegistry ops = toy_control_ops();
  ProgramDesc program;
  const auto add = [&](std::int64_t block, OpDesc op) {
    add_op(ops, program, block, program.block(block).ops().size(), std::move(op));
  };
  const auto add_unary = [&](std::int64_t block, const char* type, const std::string& x,
                             const std::string& out) {
    add(block, OpDesc(type, {{"X", {x}}}, {{"Out", {out}}}));
  };
  const auto weight = program.block(0).var("a_weight_with_a_long_name");
  weight->set_shape({2});
  weight->set_persistable(true);
  add(0, OpDesc("constant", {}, {{"Out", {"steps_with_a_long_name"}}}, {{"value", 1000}}));
  program.append_block(0);
  add(0, OpDesc("while_positive", {{"Condition", {"steps_with_a_long_name"}}}, {},
                {{"sub_block", BlockIndex{1}}}));
  add_unary(1, "reverse", weight->name(), "a_temporary_with_a_long_name");
  add_unary(1, "add_one", "a_temporary_with_a_long_name", weight->name());
  add_unary(1, "subtract_one", "steps_with_a_long_name", "steps_with_a_long_name");
  const auto scope = Scope::create();
  scope->var(weight->name())->tensor() = Tensor({{2}, DType::kFloat32});
  std::fill_n(scope->var(weight->name())->tensor().data<float>(), 2, 1.0f);

  Executor executor(ops);
  const NamedTensors feeds;
  const std::vector<std::string> fetches;
  const Executor::Options options;
  executor.run(program, feeds, fetches, scope, options);
  const int before = allocations;
  executor.run(program, feeds, fetches, scope, options);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(scope->find_var(weight->name())->tensor().get_float_element(0), 2001);
}

TEST(Allocation, ReplaysOfAProgramAllocateNothing) {
  const OpRegistry ops = toy_ops();
  ProgramDesc program;
  const auto x = program.block(0).var("an_input_with_a_long_name");
  x->set_shape({1000});
  for (const auto& [in, out] : {std::pair{x->name(), "a_temporary_with_a_long_name"},
                                {"a_temporary_with_a_long_name", "an_output_with_a_long_name"}}) {
    add_op(ops, program, 0, program.block(0).ops().size(),
           OpDesc("reverse", {{"X", {in}}}, {{"Out", {out}}}));
  }
  const Tensor start({{1000}, DType::kFloat32});
  std::fill_n(start.data<float>(), start.size(), 1.0f);
  gradcheck::ProgramFunction f(ops, program, {{x->name(), start}}, {x->name()},
                               {"an_output_with_a_long_name"});
  f.run();
  const int before = allocations;
  for (int i = 0; i < 10; ++i) f.run();
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace fluidcore
