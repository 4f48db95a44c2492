// Pruning of blocks that operators run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/passes/prune.h"
#include "fluidcore/runtime/passes/steps_of_program.h"
#include "runtime/toy_control_ops.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class PruneBlockTest : public testing::Test {
 protected:
  PruneBlockTest() {
    program_.append_block(0);
    for (const char* name : {"x", "y", "z", "n"}) program_.block(0).var(name);
    program_.block(0).var("stack")->set_type(VarType::kTensorArray);
  }
  void add_one(std::int64_t block, const std::string& x, const std::string& out) {
    add(block, OpDesc("add_one", {{"X", {x}}}, {{"Out", {out}}}));
  }
  void add(std::int64_t block, OpDesc op) { program_.block(block).append_op(std::move(op)); }
  void add_loop(std::int64_t block) {
    add(0,
        OpDesc("while_positive", {{"Condition", {"n"}}}, {}, {{"sub_block", BlockIndex{block}}}));
  }
  void push(std::int64_t block, const std::string& x) {
    add(block, OpDesc("push", {{"X", {x}}, {"Array", {"stack"}}}, {{"ArrayOut", {"stack"}}}));
  }
  void pop(std::int64_t block, const std::string& out) {
    program_.block(block).var(out);
    add(block, OpDesc("pop", {{"Array", {"stack"}}}, {{"Out", {out}}, {"ArrayOut", {"stack"}}}));
  }
  // The kept operators as "type(first output)", those of a block in brackets after its operator.
  std::string kept(const std::vector<std::string>& fetches) {
    return show(prune(steps_of_program(program_, ops_), fetches));
  }
  static std::string show(const Steps& steps) {
    std::string text;
    for (const Step& step : steps) {
      if (!text.empty()) text += " ";
      const std::vector<std::string> outputs = step.op.output_arg_names();
      text += outputs.empty() ? step.op.type() : outputs[0];
      if (step.body) text += "[" + show(step.body->steps) + "]";
    }
    return text;
  }

  OpRegistry ops_ = toy_control_ops();
  ProgramDesc program_;
};

TEST_F(PruneBlockTest, KeepsWhatIsNeededAfterTheBlockAndWhatTheConditionNeeds) {
  add_one(0, "x", "y");
  add_loop(1);
  add_one(1, "y", "y");
  add_one(1, "z", "z");
  add_one(1, "n", "n");
  EXPECT_EQ(kept({"y"}), "y while_positive[y n]");
  EXPECT_EQ(kept({"x"}), "");
}

TEST_F(PruneBlockTest, KeepsWhatALaterStepNeeds) {
  for (const char* name : {"a", "b", "c"}) program_.block(0).var(name);
  add_loop(1);
  add_one(1, "a", "y");
  add_one(1, "b", "a");
  add_one(1, "c", "b");
  add_one(1, "n", "n");
  add_one(1, "x", "z");
  EXPECT_EQ(kept({"y"}), "while_positive[y a b n]");
}

TEST_F(PruneBlockTest, KeepsTheValueBeforeABlockThatMayNotRun) {
  add_one(0, "x", "y");
  add(0, OpDesc("if_positive", {{"X", {"n"}}}, {}, {{"sub_block", BlockIndex{1}}}));
  add_one(1, "x", "y");
  EXPECT_EQ(kept({"y"}), "y if_positive[y]");
}

TEST_F(PruneBlockTest, KeepsWhatABlockWritesToTheScope) {
  program_.block(0).var("w")->set_persistable(true);
  add(0, OpDesc("if_positive", {{"X", {"n"}}}, {}, {{"sub_block", BlockIndex{1}}}));
  add_one(1, "x", "w");
  add_one(1, "x", "y");
  EXPECT_EQ(kept({}), "if_positive[w]");
}

TEST_F(PruneBlockTest, KeepsAHistoryOnlyForThoseWhoPopIt) {
  program_.append_block(0);
  add_loop(1);
  push(1, "y");
  add_one(1, "y", "y");
  add_one(1, "n", "n");
  add_loop(2);
  pop(2, "top");
  add_one(2, "top", "z");
  add_one(2, "n", "n");
  EXPECT_EQ(kept({"y"}), "while_positive[y n]");
  EXPECT_EQ(kept({"z"}), "while_positive[stack y n] while_positive[stack z n]");
}

TEST_F(PruneBlockTest, KeepsWhatGivesAForwardVariableItsShape) {
  program_.append_block(0).set_forward_block_idx(1);
  program_.block(1).var("a");
  program_.block(1).var("b");
  add_loop(1);
  add_one(1, "x", "a");
  add_one(1, "x", "b");
  add_one(1, "n", "n");
  add_loop(2);
  add(2, OpDesc("zeros_like", {{"X", {"a"}}}, {{"Out", {"z"}}}));
  EXPECT_EQ(kept({"z"}), "while_positive[a n] while_positive[z]");
  const Steps steps = steps_of_program(program_, ops_);
  EXPECT_EQ(steps[1].body->steps[0].shapes[0].block, 1);
}

TEST_F(PruneBlockTest, KeepsWhatGivesAShapeThatOnlyALaterStepOfALoopAsksFor) {
  for (const std::int64_t parent : {1, 2, 1}) program_.append_block(parent);
  program_.block(4).set_forward_block_idx(3);
  program_.block(3).var("a");
  add_loop(1);
  add_one(1, "z", "y");
  add_one(1, "n", "n");
  const auto add_if = [&](std::int64_t around, std::int64_t block) {
    add(around, OpDesc("if_positive", {{"X", {"n"}}}, {}, {{"sub_block", BlockIndex{block}}}));
  };
  add_if(1, 2);
  add_one(2, "x", "x");
  add_if(2, 3);
  add_one(3, "x", "a");
  add_if(1, 4);
  add(4, OpDesc("zeros_like", {{"X", {"a"}}}, {{"Out", {"z"}}}));
  EXPECT_EQ(kept({"y"}), "while_positive[y n if_positive[x if_positive[a]] if_positive[z]]");
}

TEST_F(PruneBlockTest, KeepsTheResultsOfAnOperatorThatIsNeeded) {
  for (const char* name : {"x_t", "h", "next", "out", "other"}) program_.block(1).var(name);
  add(0, OpDesc("scan", {{"X", {"x"}}, {"Y", {"y"}}}, {{"Out", {"z"}}},
                {{"slice", "x_t"},
                 {"state", "h"},
                 {"next", "next"},
                 {"result", "out"},
                 {"sub_block", BlockIndex{1}}}));
  add_one(1, "x_t", "out");
  add_one(1, "h", "next");
  add_one(1, "h", "other");
  EXPECT_EQ(kept({"z"}), "z[out next]");
  EXPECT_EQ(kept({"y"}), "");
}

TEST_F(PruneBlockTest, TellsTheOperatorsThatAPartOfAProgramNeeds) {
  program_.block(0).var("w")->set_persistable(true);
  add_one(0, "x", "y");
  add_one(0, "y", "w");
  add_loop(1);
  add_one(1, "y", "y");
  add_one(1, "z", "z");
  add_one(1, "n", "n");
  const auto needed = [&](const std::string& target, const std::string& given) {
    return needed_ops(program_, ops_, {target}, {given});
  };
  EXPECT_THAT(needed("y", "x"),
              ElementsAre(Pair(0, ElementsAre(0, 2)), Pair(1, ElementsAre(0, 2))));
  EXPECT_THAT(needed("z", "y"), ElementsAre(Pair(0, ElementsAre(2)), Pair(1, ElementsAre(1, 2))));
  EXPECT_THAT(needed("w", "y"), ElementsAre(Pair(0, ElementsAre(1))));
  EXPECT_THAT(needed("y", "y"), IsEmpty());
}

TEST_F(PruneBlockTest, DoesNotTakeLongForBlocksThatAreDeeplyNested) {
  const int depth = 40;
  for (int i = 0; i < depth; ++i) {
    if (i > 0) program_.append_block(i);
    const std::string value = "v" + std::to_string(i);
    program_.block(0).var(value);
    add(i,
        OpDesc("while_positive", {{"Condition", {"n"}}}, {}, {{"sub_block", BlockIndex{i + 1}}}));
    add_one(i + 1, "v" + std::to_string((i + 1) % depth), value);
  }
  const Steps steps = prune(steps_of_program(program_, ops_), {"v0"});
  EXPECT_EQ(steps.size(), 1u);
}

}  // namespace
}  // namespace fluidcore
