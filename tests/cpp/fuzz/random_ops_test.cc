#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/op/infer.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "fuzz/random_op.h"

namespace fluidcore {
namespace {

// Trials for each operator: $FLUIDCORE_FUZZ_TRIALS; tools/nightly.sh has more.
int trials() {
  const char* given = std::getenv("FLUIDCORE_FUZZ_TRIALS");
  return given ? std::atoi(given) : 250;
}

// An operator, and the gradient operators for it, with values for what they read.
class OneOp {
 public:
  OneOp(Drawing& drawing, const RandomOp& op) : drawing_(drawing) {
    OpDesc desc = op.desc();
    for (const auto& [slot, specs] : op.inputs) {
      const bool is_array = op.definition->find_input(slot)->traits.array;
      for (std::size_t i = 0; i < specs.size(); ++i) give(desc.input(slot)[i], specs[i], is_array);
    }
    forward_ = add(std::move(desc));
  }
  void add_gradient() {
    for (const std::string& name : forward_.output_arg_names()) {
      give(grad_name(name), spec_of(name), is_array(name));
    }
    const std::set<std::string> no_grad;
    GradContext context(forward_, no_grad);
    for (OpDesc& grad : builtin_ops().grad_ops(context)) add(std::move(grad));
  }
  // The operator of this type that add_gradient() made, if there is one, with what it reads.
  std::optional<RandomOp> find(const OpDef& definition) {
    for (const auto& op : program_.block(0).ops()) {
      if (op->type() != definition.type()) continue;
      RandomOp found{&definition, {}, op->attrs()};
      for (const auto& [slot, names] : op->inputs()) {
        for (const std::string& name : names) found.inputs[slot].push_back(spec_of(name));
      }
      return found;
    }
    return std::nullopt;
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
  // A variable with a value: a tensor, selected rows, or an array of these.
  void give(const std::string& name, const TensorSpec& spec, bool is_array) {
    if (is_array) {
      program_.block(0).var(name)->set_type(VarType::kTensorArray);
      give(name + "_element", spec, false);
      const char* push = spec.rows ? "push_selected_rows" : "push_to_array";
      for (std::int64_t count = drawing_.below(4); count > 0; --count) {
        add(OpDesc(push, {{"X", {name + "_element"}}, {"Array", {name}}}, {{"ArrayOut", {name}}}));
      }
    } else if (spec.rows) {
      const std::int64_t height = std::max<std::int64_t>(spec.shape[0], 1);
      Tensor ids({{*spec.rows}, DType::kInt64});
      for (std::int64_t i = 0; i < ids.size(); ++i) {
        ids.data<std::int64_t>()[i] = drawing_.below(height);
      }
      feed(name + "_table", {spec.shape, spec.dtype});
      feed(name + "_ids", std::move(ids));
      feed(name + "_values", {{*spec.rows, spec.shape[1]}, spec.dtype});
      add(OpDesc(
          "lookup_table_v2_grad",
          {{"W", {name + "_table"}}, {"Ids", {name + "_ids"}}, {"Out@GRAD", {name + "_values"}}},
          {{"W@GRAD", {name}}}, {{"is_sparse", true}, {"padding_idx", drawing_.below(2) - 1}}));
    } else {
      feed(name, spec);
    }
  }
  void feed(const std::string& name, const TensorSpec& spec) { feed(name, drawing_.values(spec)); }
  void feed(const std::string& name, Tensor value) {
    const auto var = program_.block(0).var(name);
    var->set_shape(value.spec().shape);
    var->set_dtype(value.spec().dtype);
    var->set_is_data(true);
    feeds_.emplace_back(name, std::move(value));
  }
  // The operator with the defaults of its attributes.
  OpDesc add(OpDesc op) {
    const std::vector<std::string> names = op.output_arg_names();
    BlockDesc& block = program_.block(0);
    const auto added = add_op(builtin_ops(), program_, 0, block.ops().size(), std::move(op));
    for (const std::string& name : names) {
      if (name == kEmptyName) continue;
      const std::string result = is_array(name) ? name + "_length" : name;
      if (std::ranges::find(results_, result) == results_.end()) results_.push_back(result);
      if (is_array(name)) {  // which nobody can fetch
        const OpDesc length("lod_array_length", {{"X", {name}}}, {{"Out", {result}}});
        add_op(builtin_ops(), program_, 0, block.ops().size(), length);
      }
    }
    return *added;
  }
  bool is_array(const std::string& name) {
    const auto var = program_.block(0).find_var(name);
    return var && var->type() == VarType::kTensorArray;
  }
  TensorSpec spec_of(const std::string& name) {
    const auto var = program_.block(0).find_var(name);
    return {var->shape(), var->dtype()};
  }

  Drawing& drawing_;
  OpDesc forward_;
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

// A new operator of this type. One that is the gradient of another comes of a random one of those,
// where that is right.
RandomOp draw(Drawing& drawing, const OpDef& definition) {
  constexpr std::string_view kSuffix = "_grad";
  const std::string& type = definition.type();
  const OpDef* const forward =
      type.ends_with(kSuffix) ? builtin_ops().find(type.substr(0, type.size() - kSuffix.size()))
                              : nullptr;
  if (!forward || !forward->has_grad() || drawing.one_in(2)) return drawing.draw(definition);
  try {
    OneOp one(drawing, draw(drawing, *forward));
    one.add_gradient();
    if (const auto found = one.find(definition)) return *found;
  } catch (const Error&) {
    // Of a wrong one there is no gradient.
  }
  return draw(drawing, definition);
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
    const RandomOp op =
        is_new ? draw(drawing, definition) : drawing.change(drawing.any_of(parents));
    SCOPED_TRACE(to_string(op));
    const std::string text = answer(seed, op, false);
    if (text.empty() || answers.insert(text).second) parents.push_back(op);
    if (!text.empty()) continue;
    ++ran;
    if (definition.has_grad()) answer(seed, op, true);
  }
  RecordProperty("ran", ran);
}

std::vector<std::string> without_block() {
  std::vector<std::string> types;
  for (const std::string& type : builtin_ops().types()) {
    if (!builtin_ops().find(type)->block_traits()) types.push_back(type);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(Builtin,
                         RandomOps,
                         testing::ValuesIn(without_block()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fluidcore
