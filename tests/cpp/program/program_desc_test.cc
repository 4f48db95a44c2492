#include "fluidcore/program/program_desc.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ThrowsMessage;

// Fills a program with two blocks.
void build(ProgramDesc& program) {
  BlockDesc& block = program.block(0);
  block.var("x")->set_shape({-1, 3});
  block.var("y");
  block.append_op(
      OpDesc("while", {{"X", {"x"}}}, {{"Out", {"y"}}}, {{"sub_block", BlockIndex{1}}}));
  BlockDesc& body = program.append_block(0);
  body.append_op(OpDesc("relu", {{"X", {"x"}}}, {{"Out", {"y"}}}));
  body.set_forward_block_idx(0);
  program.set_random_seed(7);
}

TEST(ProgramDesc, BeginsWithOneEmptyBlock) {
  const ProgramDesc program;
  EXPECT_EQ(program.num_blocks(), 1u);
  EXPECT_EQ(program.block(0).idx(), 0);
  EXPECT_EQ(program.block(0).parent_idx(), -1);
  EXPECT_EQ(program.block(0).forward_block_idx(), -1);
}

TEST(ProgramDesc, PrintsALinePerVariableAndOperator) {
  ProgramDesc program;
  build(program);
  EXPECT_EQ(to_string(program),
            "block 0:\n"
            "  x: float32 [-1, 3]\n"
            "  y: float32 []\n"
            "  while(X=x) -> Out=y   # sub_block=block 1\n"
            "block 1 (parent 0):\n"
            "  relu(X=x) -> Out=y\n");
}

TEST(ProgramDesc, RefusesBlocksThatDoNotExist) {
  ProgramDesc program;
  EXPECT_THAT([&] { program.block(1); }, ThrowsMessage<NotFound>("program: no block 1; it has 1"));
  EXPECT_THROW(program.block(-1), NotFound);
  EXPECT_THROW(program.append_block(1), NotFound);
  EXPECT_EQ(program.num_blocks(), 1u);
}

TEST(ProgramDesc, FindsVariablesInTheNearestAncestor) {
  ProgramDesc program;
  program.append_block(0);
  program.append_block(1);
  const auto outer = program.block(0).var("x");
  EXPECT_EQ(program.find_var_recursive(2, "x"), outer);
  const auto inner = program.block(1).var("x");
  EXPECT_EQ(program.find_var_recursive(2, "x"), inner);
  EXPECT_EQ(program.find_var_recursive(0, "x"), outer);
  EXPECT_EQ(program.find_var_recursive(2, "y"), nullptr);
}

TEST(ProgramDesc, ClonesEverything) {
  ProgramDesc program;
  build(program);
  const auto copy = program.clone();
  EXPECT_EQ(to_string(*copy), to_string(program));
  EXPECT_EQ(copy->random_seed(), 7u);
  EXPECT_EQ(copy->block(1).forward_block_idx(), 0);
}

TEST(ProgramDesc, SharesNothingWithItsClone) {
  ProgramDesc program;
  build(program);
  const std::string before = to_string(program);
  const std::uint64_t revision = *program.revision();
  const auto copy = program.clone();
  copy->block(0).var("x")->set_shape({1});
  copy->block(0).ops()[0]->set_type("if");
  copy->block(1).remove_op(0, 1);
  copy->append_block(0);
  copy->set_random_seed(8);
  EXPECT_EQ(to_string(program), before);
  EXPECT_EQ(*program.revision(), revision);
  EXPECT_NE(program.revision(), copy->revision());
}

TEST(ProgramDesc, RevisionGrowsWithEveryChange) {
  ProgramDesc program;
  build(program);
  std::uint64_t last = *program.revision();
  const auto expect_grown = [&](const char* change) {
    EXPECT_GT(*program.revision(), last) << change;
    last = *program.revision();
  };
  program.append_block(0);
  expect_grown("append_block");
  program.set_random_seed(3);
  expect_grown("set_random_seed");
  program.block(1).var("z");
  expect_grown("a new variable");
  program.block(1).var("z")->set_dtype(DType::kInt32);
  expect_grown("a changed variable");
  program.block(1).ops()[0]->set_attr("axis", std::int64_t{1});
  expect_grown("a changed operator");
  const auto copy = program.clone();
  last = *copy->revision();
  copy->block(1).ops()[0]->set_attr("axis", std::int64_t{2});
  EXPECT_GT(*copy->revision(), last) << "the operators of a clone are linked to the clone";
}

TEST(ProgramDesc, RevisionStaysWhenNothingChanges) {
  ProgramDesc program;
  build(program);
  const std::uint64_t before = *program.revision();
  program.block(0).var("x");
  program.find_var_recursive(1, "x");
  program.clone();
  to_string(program);
  EXPECT_EQ(*program.revision(), before);
}

}  // namespace
}  // namespace fluidcore
