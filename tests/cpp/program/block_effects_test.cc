#include "fluidcore/program/block_effects.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/program/program_desc.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

OpDesc op(const std::string& x, const std::string& out) {
  return OpDesc("relu", {{"X", {x}}}, {{"Out", {out}}});
}

OpDesc loop(std::int64_t block) {
  return OpDesc("while", {{"Condition", {"go"}}}, {}, {{"sub_block", BlockIndex{block}}});
}

TEST(BlockEffects, AreWhatABlockReadsAndWritesOfTheBlocksAround) {
  ProgramDesc program;
  BlockDesc& block = program.append_block(0);
  block.var("local");
  block.append_op(op("a", "local"));
  block.append_op(op("local", "b"));
  block.append_op(op("b", "c"));
  block.append_op(op("c", "a"));
  const BlockEffects effects = block_effects(program, 1);
  EXPECT_THAT(effects.reads, ElementsAre("a")) << "b and c are written before they are read";
  EXPECT_THAT(effects.writes, ElementsAre("b", "c", "a"));
}

TEST(BlockEffects, DoNotCountOutputsThatNobodyWants) {
  ProgramDesc program;
  program.append_block(0).append_op(op("a", std::string(kEmptyName)));
  EXPECT_THAT(block_effects(program, 1).writes, IsEmpty());
}

TEST(BlockEffects, IncludeThoseOfBlocksWithin) {
  ProgramDesc program;
  BlockDesc& outer = program.append_block(0);
  BlockDesc& inner = program.append_block(1);
  outer.var("of_outer");
  outer.append_op(loop(2));
  inner.var("of_inner");
  inner.append_op(op("a", "of_inner"));
  inner.append_op(op("of_inner", "of_outer"));
  inner.append_op(op("of_outer", "b"));
  const BlockEffects effects = block_effects(program, 1);
  EXPECT_THAT(effects.reads, ElementsAre("go", "a", "b")) << "the inner block may not run";
  EXPECT_THAT(effects.writes, ElementsAre("b"));
}

TEST(BlockEffects, CountAnArrayThatIsWrittenAsRead) {
  ProgramDesc program;
  program.block(0).var("list")->set_type(VarType::kTensorArray);
  program.append_block(0).append_op(op("x", "list"));
  EXPECT_THAT(block_effects(program, 1).reads, ElementsAre("x", "list"));
}

TEST(BlockEffects, DoNotCountVariablesOfTheForwardBlock) {
  ProgramDesc program;
  program.append_block(0).var("hidden");
  BlockDesc& grad = program.append_block(0);
  grad.set_forward_block_idx(1);
  grad.append_op(op("hidden", "w@GRAD"));
  const BlockEffects effects = block_effects(program, 2);
  EXPECT_THAT(effects.reads, IsEmpty());
  EXPECT_THAT(effects.writes, ElementsAre("w@GRAD"));
}

TEST(BlockEffects, RefuseABlockThatIsNotInsideTheOperatorsOwn) {
  ProgramDesc program;
  program.append_block(0);
  program.append_block(0);
  program.block(1).append_op(loop(1));
  EXPECT_THAT([&] { block_effects(program, 1); },
              ThrowsMessage<InvalidArgument>("while: sub_block must be a block inside block 1, "
                                             "where the operator is, got block 1 itself"));
  program.block(1).ops()[0]->set_attr("sub_block", BlockIndex{0});
  EXPECT_THROW(block_effects(program, 1), InvalidArgument);
  program.block(1).ops()[0]->set_attr("sub_block", BlockIndex{2});
  EXPECT_THAT(
      [&] { block_effects(program, 1); },
      ThrowsMessage<InvalidArgument>("while: sub_block must be a block inside block 1, where the "
                                     "operator is, got block 2, which is inside block 0"));
  program.block(1).ops()[0]->set_attr("sub_block", BlockIndex{3});
  EXPECT_THAT([&] { block_effects(program, 1); },
              ThrowsMessage<NotFound>(
                  "while: sub_block must be a block of the program, got block 3; it has 3"));
  EXPECT_THROW(block_effects(program, 3), NotFound);
}

TEST(BlockEffects, RefuseBlocksThatAreNestedWithoutEnd) {
  ProgramDesc program;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    program.append_block(i);
    program.block(i).append_op(loop(i + 1));
  }
  EXPECT_THAT([&] { block_effects(program, 0); },
              ThrowsMessage<InvalidArgument>("while: blocks must be nested at most 64 deep, got "
                                             "block 65 at depth 65"));
  EXPECT_THROW(block_effects(program, 19'000), InvalidArgument);
}

TEST(BlockEffects, RefuseABlockThatTwoOperatorsRun) {
  ProgramDesc program;
  program.append_block(0);
  program.append_block(1);
  program.block(1).append_op(loop(2));
  program.block(1).append_op(loop(2));
  EXPECT_THAT([&] { block_effects(program, 1); },
              ThrowsMessage<InvalidArgument>("while: sub_block must be run by one operator only, "
                                             "got block 2, which another one runs"));
}

}  // namespace
}  // namespace fluidcore
