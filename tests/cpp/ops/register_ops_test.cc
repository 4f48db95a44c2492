#include "fluidcore/ops/register_ops.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fluidcore {
namespace {

SlotMap invented_names(const std::vector<OpDef::Slot>& slots) {
  SlotMap names;
  for (const OpDef::Slot& slot : slots) names[slot.name] = {slot.name + "_var"};
  return names;
}

// The operator with one invented variable in every slot and every attribute at its default.
OpDesc example_of(const OpDef& def) {
  OpDesc op(def.type(), invented_names(def.inputs()), invented_names(def.outputs()));
  for (const OpDef::Attr& attr : def.attrs()) {
    op.set_attr(attr.name, attr.choices.empty() ? attr.default_value : Attribute(attr.choices[0]));
  }
  def.complete(op);
  return op;
}

TEST(BuiltinOps, EveryOperatorSaysWhatItIs) {
  for (const std::string& type : builtin_ops().types()) {
    const OpDef& def = builtin_ops().get(type);
    EXPECT_FALSE(def.doc().empty()) << type;
    for (const auto& slot : def.inputs())
      EXPECT_FALSE(slot.doc.empty()) << type << " " << slot.name;
    for (const auto& slot : def.outputs())
      EXPECT_FALSE(slot.doc.empty()) << type << " " << slot.name;
    for (const auto& attr : def.attrs()) EXPECT_FALSE(attr.doc.empty()) << type << " " << attr.name;
    EXPECT_FALSE(def.kernels().empty()) << type;
  }
}

TEST(BuiltinOps, EveryGradientIsMadeOfOperatorsThatExist) {
  for (const std::string& type : builtin_ops().types()) {
    const OpDef& def = builtin_ops().get(type);
    if (!def.has_grad()) continue;
    const OpDesc op = example_of(def);
    const std::set<std::string> no_grad;
    std::vector<BlockIndex> grad_blocks;
    if (def.block_traits() != nullptr) grad_blocks.push_back({1});
    GradContext context(op, no_grad, grad_blocks);
    for (OpDesc& grad : builtin_ops().grad_ops(context)) {
      ASSERT_NE(builtin_ops().find(grad.type()), nullptr) << type << " -> " << grad.type();
      EXPECT_NO_THROW(builtin_ops().get(grad.type()).complete(grad)) << to_string(grad);
    }
  }
}

TEST(BuiltinOps, AGradientThatIsNotWantedIsLeftOut) {
  for (const char* type : {"scale", "sum", "assign", "split"}) {
    const OpDesc op = example_of(builtin_ops().get(type));
    const std::set<std::string> no_grad = {"X_var"};
    GradContext context(op, no_grad);
    EXPECT_TRUE(builtin_ops().grad_ops(context).empty()) << type;
  }
}

TEST(BuiltinOps, EveryGradientOperatorHasAGradient) {
  for (const std::string& type : builtin_ops().types()) {
    if (!type.ends_with("_grad")) continue;
    EXPECT_TRUE(builtin_ops().get(type).has_grad()) << type;
  }
}

}  // namespace
}  // namespace fluidcore
