#include "fluidcore/runtime/passes/steps_of_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/program/block_effects.h"
#include "fluidcore/program/program_desc.h"
#include "runtime/toy_control_ops.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class StepsOfProgramTest : public testing::Test {
 protected:
  void add_if(std::int64_t block, std::int64_t sub_block) {
    program_.block(block).append_op(
        OpDesc("if_positive", {{"X", {"x"}}}, {}, {{"sub_block", BlockIndex{sub_block}}}));
  }
  void add_one(std::int64_t block, const std::string& x, const std::string& out) {
    program_.block(block).append_op(OpDesc("add_one", {{"X", {x}}}, {{"Out", {out}}}));
  }
  Steps steps() const { return steps_of_program(program_, ops_); }

  OpRegistry ops_ = toy_control_ops();
  ProgramDesc program_;
};

TEST_F(StepsOfProgramTest, EveryStepHasItsPlaceAndItsBlock) {
  program_.append_block(0);
  program_.append_block(1);
  add_one(0, "x", "y");
  add_if(0, 1);
  add_if(1, 2);
  add_one(2, "x", "y");
  const Steps all = steps();
  EXPECT_EQ(describe(all[1]), "operator 1 of block 0 (if_positive)");
  EXPECT_EQ(describe(all[1].body->steps[0].body->steps[0]), "operator 0 of block 2 (add_one)");
}

TEST_F(StepsOfProgramTest, FindsWhatABlockWritesOutsideItself) {
  program_.append_block(0).var("own");
  program_.append_block(1).var("inner");
  program_.block(2).var("weight")->set_persistable(true);
  add_if(0, 1);
  add_if(1, 2);
  add_one(1, "x", "own");
  add_one(1, "x", "a");
  add_one(2, "x", "own");
  add_one(2, "x", "inner");
  add_one(2, "x", "weight");
  add_one(2, "x", "b");
  const Steps all = steps();
  EXPECT_THAT(all[0].body->writes, ElementsAre("a", "b", "weight"));
  EXPECT_THAT(all[0].body->steps[0].body->writes, ElementsAre("b", "own", "weight"));
  EXPECT_THAT(all[0].body->steps[0].body->steps[2].lasting, ElementsAre("weight"));
}

TEST_F(StepsOfProgramTest, RefusesABlockThatDoesNotExist) {
  add_if(0, 7);
  try {
    steps();
    FAIL();
  } catch (const NotFound& error) {
    EXPECT_THAT(error.what(), HasSubstr("sub_block must be a block of the program, got block 7"));
    EXPECT_EQ(error.note(), "operator 0 of block 0 (if_positive)");
  }
}

TEST_F(StepsOfProgramTest, RefusesABlockThatRunsItselfOrABlockAroundIt) {
  program_.append_block(0);
  program_.append_block(1);
  add_if(0, 1);
  add_if(1, 2);
  for (const std::int64_t around : {0, 1, 2}) {
    add_if(2, around);
    EXPECT_THAT([&] { steps(); },
                ThrowsMessage<InvalidArgument>(HasSubstr("must be a block inside block 2")));
    program_.block(2).remove_op(0, 1);
  }
}

TEST_F(StepsOfProgramTest, RefusesABlockThatTwoOperatorsRun) {
  program_.append_block(0);
  add_if(0, 1);
  add_if(0, 1);
  EXPECT_THAT([&] { steps(); },
              ThrowsMessage<InvalidArgument>("if_positive: sub_block must be run by one operator "
                                             "only, got block 1, which another one runs"));
}

TEST_F(StepsOfProgramTest, RefusesBlocksThatAreNestedTooDeep) {
  for (std::int64_t depth = 0; depth < 2 * kMaxBlockDepth; ++depth) {
    program_.append_block(depth);
    add_if(depth, depth + 1);
  }
  EXPECT_THAT([&] { steps(); }, ThrowsMessage<InvalidArgument>(HasSubstr("nested at most 64")));
}

}  // namespace
}  // namespace fluidcore
