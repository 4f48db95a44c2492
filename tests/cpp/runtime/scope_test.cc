#include "fluidcore/runtime/scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

TEST(Scope, FindsVariablesHereAndAbove) {
  const auto parent = Scope::create();
  const auto child = parent->new_scope();
  const auto variable = parent->var("w");
  EXPECT_EQ(child->find_var("w"), variable);
  EXPECT_EQ(parent->find_var("x"), nullptr);
}

TEST(Scope, CreatesAVariableInTheChildEvenWhenTheParentHasOneOfTheName) {
  const auto parent = Scope::create();
  const auto child = parent->new_scope();
  EXPECT_NE(child->var("w"), parent->var("w"));
}

TEST(Scope, ChildKeepsItsParentAlive) {
  auto parent = Scope::create();
  const auto variable = parent->var("w");
  const auto child = parent->new_scope();
  parent.reset();
  EXPECT_EQ(child->find_var("w"), variable);
}

TEST(Scope, DropKidsEmptiesTheChildren) {
  const auto parent = Scope::create();
  const auto child = parent->new_scope();
  child->var("x");
  parent->drop_kids();
  EXPECT_EQ(child->find_var("x"), nullptr);
}

TEST(Scope, LayoutChangesWithEveryVariableHereOrAbove) {
  const auto parent = Scope::create();
  const auto child = parent->new_scope();
  const auto start = child->layout();
  parent->var("w");
  const auto added = child->layout();
  EXPECT_NE(added, start);
  parent->erase("w");
  EXPECT_NE(child->layout(), added);
}

TEST(Scope, HandleOfAnErasedVariableStaysValid) {
  const auto scope = Scope::create();
  const auto variable = scope->var("w");
  scope->erase("w");
  scope->erase("w");
  EXPECT_FALSE(variable->tensor().is_initialized());
}

}  // namespace
}  // namespace fluidcore
