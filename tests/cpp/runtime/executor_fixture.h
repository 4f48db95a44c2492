#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/op/infer.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "runtime/toy_control_ops.h"

namespace fluidcore {

// A program, a scope and an executor.
class ExecutorTest : public testing::Test {
 protected:
  void declare(const std::string& name, Shape shape, bool persistable) {
    const auto var = program_.block(0).var(name);
    var->set_shape(std::move(shape));
    var->set_persistable(persistable);
    var->set_is_data(!persistable);
  }
  void declare_array(std::int64_t block, const std::string& name) {
    program_.block(block).var(name)->set_type(VarType::kTensorArray);
  }
  void add_to(std::int64_t block, OpDesc op) {
    add_op(ops_, program_, block, program_.block(block).ops().size(), std::move(op));
  }
  void add(const std::string& type, const std::string& x, const std::string& out) {
    add_in(0, type, x, out);
  }
  void add_in(std::int64_t block,
              const std::string& type,
              const std::string& x,
              const std::string& out) {
    add_to(block, OpDesc(type, {{"X", {x}}}, {{"Out", {out}}}));
  }
  // Out = X + Y
  void add_sum(std::int64_t block,
               const std::string& x,
               const std::string& y,
               const std::string& out) {
    add_to(block, OpDesc("add", {{"X", {x}}, {"Y", {y}}}, {{"Out", {out}}}));
  }
  void add_constant(const std::string& out, double value) { add_constant(0, out, value); }
  void add_constant(std::int64_t block, const std::string& out, double value) {
    add_to(block, OpDesc("constant", {}, {{"Out", {out}}}, {{"value", value}}));
  }
  std::int64_t new_block(std::int64_t around) { return program_.append_block(around).idx(); }
  void add_while(std::int64_t block, const std::string& condition, std::int64_t sub_block) {
    add_to(block, OpDesc("while_positive", {{"Condition", {condition}}}, {},
                         {{"sub_block", BlockIndex{sub_block}}}));
  }
  void add_if(std::int64_t block, const std::string& x, std::int64_t sub_block) {
    add_to(block, OpDesc("if_positive", {{"X", {x}}}, {}, {{"sub_block", BlockIndex{sub_block}}}));
  }
  void set(const std::string& name, std::vector<float> values) {
    scope_->var(name)->tensor() = make(values);
  }
  static Tensor make(const std::vector<float>& values) {
    Tensor tensor({{static_cast<std::int64_t>(values.size())}, DType::kFloat32});
    std::copy(values.begin(), values.end(), tensor.data<float>());
    return tensor;
  }
  static std::vector<float> values(const Tensor& tensor) {
    return {tensor.data<float>(), tensor.data<float>() + tensor.size()};
  }
  std::vector<Tensor> run(const NamedTensors& feeds, const std::vector<std::string>& fetches) {
    return executor_.run(program_, feeds, fetches, scope_, options_);
  }
  std::vector<float> run_for(const NamedTensors& feeds, const std::string& fetch) {
    return values(run(feeds, {fetch})[0]);
  }

  OpRegistry ops_ = toy_control_ops();
  ProgramDesc program_;
  std::shared_ptr<Scope> scope_ = Scope::create();
  Executor executor_{ops_};
  Executor::Options options_;
};

}  // namespace fluidcore
