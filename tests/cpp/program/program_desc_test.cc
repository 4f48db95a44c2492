#include "fluidcore/program/program_desc.h"

#include <cstdint>
#include <string>
#include <vector>

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
            "block 1 (parent 0, gradient of block 0):\n"
            "  relu(X=x) -> Out=y\n");
}

TEST(ProgramDesc, RefusesBlocksThatDoNotExist) {
  ProgramDesc program;
  EXPECT_THAT([&] { program.block(1); }, ThrowsMessage<NotFound>("program: no block 1; it has 1"));
  EXPECT_THROW(program.block(-1), NotFound);
  EXPECT_THROW(program.append_block(1), NotFound);
  EXPECT_EQ(program.num_blocks(), 1u);
}

TEST(ProgramDesc, RemovesTheLastBlocks) {
  ProgramDesc program;
  const std::string before = to_string(program);
  program.append_block(0);
  program.append_block(1);
  const std::uint64_t revision = *program.revision();
  program.remove_blocks(1);
  EXPECT_EQ(to_string(program), before);
  EXPECT_GT(*program.revision(), revision);
  EXPECT_EQ(program.append_block(0).idx(), 1);
  EXPECT_THAT(
      [&] { program.remove_blocks(0); },
      ThrowsMessage<InvalidArgument>("program: blocks can be removed from 1 to 2 on, got 0"));
  EXPECT_THROW(program.remove_blocks(3), InvalidArgument);
  program.remove_blocks(2);
  EXPECT_EQ(program.num_blocks(), 2u);
}

// Block 0 runs 1 and 4; 2 is inside 1, 3 is run by nobody, 4 is the gradient of 1.
void build_nested(ProgramDesc& program) {
  for (const std::int64_t parent : {0, 1, 0, 0}) program.append_block(parent);
  program.block(4).set_forward_block_idx(1);
  const auto run = [&](std::int64_t block, std::int64_t inner) {
    program.block(block).append_op(OpDesc("while", {}, {}, {{"sub_block", BlockIndex{inner}}}));
  };
  run(0, 1);
  run(0, 4);
  run(1, 2);
}

TEST(ProgramDesc, NumbersTheBlocksThatStayAnew) {
  ProgramDesc program;
  build_nested(program);
  const std::uint64_t revision = *program.revision();
  program.keep_blocks({0, 1, 2, 4});
  EXPECT_GT(*program.revision(), revision);
  EXPECT_EQ(to_string(program),
            "block 0:\n"
            "  while() ->    # sub_block=block 1\n"
            "  while() ->    # sub_block=block 3\n"
            "block 1 (parent 0):\n"
            "  while() ->    # sub_block=block 2\n"
            "block 2 (parent 1):\n"
            "block 3 (parent 0, gradient of block 1):\n");
  EXPECT_EQ(program.block(3).idx(), 3);
  program.block(0).remove_op(0, 2);
  program.keep_blocks({0});
  EXPECT_EQ(program.num_blocks(), 1u);
}

TEST(ProgramDesc, RefusesToRemoveBlocksThatAreNamed) {
  ProgramDesc program;
  build_nested(program);
  const auto refuse = [&](const std::vector<std::int64_t>& indices, const std::string& message) {
    EXPECT_THAT([&] { program.keep_blocks(indices); },
                ThrowsMessage<InvalidArgument>("program: " + message));
  };
  refuse({}, "the blocks to keep must begin with the outermost, block 0");
  refuse({1, 2}, "the blocks to keep must begin with the outermost, block 0");
  refuse({0, 4, 1}, "the blocks to keep must be in ascending order, got block 1 after block 4");
  refuse({0, 1, 2}, "block 0 must be kept together with the block of an operator, block 4");
  program.block(0).remove_op(0, 2);
  refuse({0, 4}, "block 4 must be kept together with its forward block, block 1");
  refuse({0, 2}, "block 2 must be kept together with the block around it, block 1");
  EXPECT_THROW(program.keep_blocks({0, 9}), NotFound);
  EXPECT_EQ(program.num_blocks(), 5u);
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

TEST(ProgramDesc, SeesTheVariablesOfForwardBlocksBeforeThoseOfTheParents) {
  ProgramDesc program;
  for (const std::int64_t parent : {0, 0, 0, 2}) program.append_block(parent);
  program.block(2).set_forward_block_idx(1);
  program.block(3).set_forward_block_idx(2);
  const auto outer = program.block(0).var("x");
  const auto forward = program.block(1).var("x");
  EXPECT_EQ(program.find_var_recursive(2, "x"), forward);
  EXPECT_EQ(program.find_var_recursive(3, "x"), forward);  // the gradient of a gradient
  EXPECT_EQ(program.find_var_recursive(4, "x"), forward);  // inside a gradient block
  EXPECT_EQ(program.find_in_forward(3, "x"), 1);
  EXPECT_EQ(program.find_in_forward(4, "x"), -1);
  const auto own = program.block(2).var("x");
  EXPECT_EQ(program.find_var_recursive(2, "x"), own);
  program.block(1).set_forward_block_idx(3);  // a damaged program
  EXPECT_EQ(program.find_var_recursive(3, "y"), nullptr);
  EXPECT_EQ(program.find_var_recursive(0, "x"), outer);
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
