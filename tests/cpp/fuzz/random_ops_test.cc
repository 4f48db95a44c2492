#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fluidcore/op/infer.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "fuzz/random_op.h"

namespace fluidcore {
namespace {

// Trials for each operator: $FLUIDCORE_FUZZ_TRIALS.
int trials() {
  const char* given = std::getenv("FLUIDCORE_FUZZ_TRIALS");
  return given ? std::atoi(given) : 1000;
}

// An operator, and the gradient operators for it, with values for what they read.
class OneOp {
 public:
  OneOp(Drawing& drawing, const RandomOp& op) : drawing_(drawing) {
    OpDesc desc = op.desc();
    for (const auto& [slot, specs] : op.inputs) {
      for (std::size_t i = 0; i < specs.size(); ++i) feed(desc.input(slot)[i], specs[i]);
    }
    add(std::move(desc));
  }
  void add_gradient() {
    const OpDesc forward = *program_.block(0).ops()[0];
    for (const std::string& name : forward.output_arg_names()) {
      feed(grad_name(name), spec_of(name));
    }
    const std::set<std::string> no_grad;
    GradContext context(forward, no_grad);
    for (OpDesc& grad : builtin_ops().grad_ops(context)) add(std::move(grad));
  }
  // False if the results would be too large.
  bool run(Executor& executor) {
    constexpr std::size_t kMostBytes = std::size_t{1} << 22;
    for (const std::string& name : results_) {
      const TensorSpec spec = spec_of(name);
      if (spec.shape.is_known() && byte_size(spec) > kMostBytes) return false;
    }
    const Executor::Options options{.threads = 1 + static_cast<int>(drawing_.below(2))};
    executor.run(program_, feeds_, results_, Scope::create(), options);
    return true;
  }

 private:
  void feed(const std::string& name, const TensorSpec& spec) {
    const auto var = program_.block(0).var(name);
    var->set_shape(spec.shape);
    var->set_dtype(spec.dtype);
    var->set_is_data(true);
    feeds_.emplace_back(name, drawing_.values(spec));
  }
  void add(OpDesc op) {
    for (const std::string& name : op.output_arg_names()) {
      if (name != kEmptyName) results_.push_back(name);
    }
    BlockDesc& block = program_.block(0);
    add_op(builtin_ops(), program_, 0, block.ops().size(), std::move(op));
  }
  TensorSpec spec_of(const std::string& name) {
    const auto var = program_.block(0).find_var(name);
    return {var->shape(), var->dtype()};
  }

  Drawing& drawing_;
  ProgramDesc program_;
  NamedTensors feeds_;
  std::vector<std::string> results_;
};

// What becomes of an operator: "" where it runs, else what had to hold. Any other
// exception than an error of fluidcore ends the test.
std::string answer(std::uint64_t seed, const RandomOp& op, bool with_gradient) {
  Drawing drawing(seed);
  Executor executor(builtin_ops());
  try {
    OneOp one(drawing, op);
    if (with_gradient) one.add_gradient();
    return one.run(executor) ? "" : "too large";
  } catch (const Error& error) {
    std::string text = error.what();
    text.resize(std::min(text.size(), text.find(", got")));
    std::erase_if(text, [](char letter) { return letter >= '0' && letter <= '9'; });
    return text;
  }
}

class RandomOps : public testing::TestWithParam<std::string> {};

TEST_P(RandomOps, RunOrSayWhyNot) {
  const OpDef& definition = *builtin_ops().find(GetParam());
  // Those that ran, and those with an error that had not been seen: changed further, they come to
  // what the checks before let through.
  std::vector<RandomOp> parents;
  std::set<std::string> answers;
  int ran = 0;
  for (int trial = 0; trial < trials(); ++trial) {
    const auto seed = static_cast<std::uint64_t>(trial);
    Drawing drawing(seed);
    const bool is_new = parents.empty() || drawing.one_in(8);
    const RandomOp op = is_new ? drawing.draw(definition) : drawing.change(drawing.any_of(parents));
    SCOPED_TRACE(to_string(op));
    const std::string text = answer(seed, op, false);
    if (text.empty() || answers.insert(text).second) parents.push_back(op);
    if (!text.empty()) continue;
    ++ran;
    if (definition.has_grad()) answer(seed, op, true);
  }
  RecordProperty("ran", ran);
}

// What takes tensors, and no block.
std::vector<std::string> of_tensors() {
  std::vector<std::string> types;
  for (const std::string& type : builtin_ops().types()) {
    const OpDef& definition = *builtin_ops().find(type);
    const auto is_array = [](const OpDef::Slot& slot) { return slot.traits.array; };
    if (!definition.block_traits() && std::ranges::none_of(definition.inputs(), is_array) &&
        std::ranges::none_of(definition.outputs(), is_array)) {
      types.push_back(type);
    }
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(Builtin, RandomOps, testing::ValuesIn(of_tensors()), [](const auto& info) {
  return info.param;
});

}  // namespace
}  // namespace fluidcore
