// Programs whose operators run blocks.

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/runtime/plan.h"
#include "runtime/executor_fixture.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class SubBlockTest : public ExecutorTest {
 protected:
  SubBlockTest() {
    declare("n", {1}, false);
    declare("x", {2}, false);
  }
  // A loop that runs `n` times: the block counts it down.
  std::int64_t add_loop() {
    const std::int64_t block = new_block(0);
    add_while(0, "n", block);
    return block;
  }
  NamedTensors feeds(float n, std::vector<float> x) { return {{"n", make({n})}, {"x", make(x)}}; }
};

TEST_F(SubBlockTest, ALoopHandsVariablesOnFromStepToStep) {
  add("add_one", "x", "y");
  const std::int64_t body = add_loop();
  add_in(body, "add_one", "y", "y");
  add_in(body, "subtract_one", "n", "n");
  add("reverse", "y", "z");
  EXPECT_THAT(run_for(feeds(3, {1, 10}), "y"), ElementsAre(5, 14));
  EXPECT_THAT(run_for(feeds(3, {1, 10}), "z"), ElementsAre(14, 5));
}

TEST_F(SubBlockTest, ALoopOfNoStepsLeavesVariablesAsTheyWere) {
  add("add_one", "x", "y");
  const std::int64_t body = add_loop();
  add_in(body, "add_one", "y", "y");
  add_in(body, "subtract_one", "n", "n");
  EXPECT_THAT(run_for(feeds(0, {1, 10}), "y"), ElementsAre(2, 11));
}

TEST_F(SubBlockTest, ABlockThatWritesAFeedWritesToACopy) {
  const std::int64_t body = add_loop();
  add_in(body, "reverse", "x", "x");
  add_in(body, "add_one", "x", "x");
  add_in(body, "subtract_one", "n", "n");
  const NamedTensors fed = feeds(2, {1, 10});
  EXPECT_THAT(run_for(fed, "x"), ElementsAre(3, 12));
  EXPECT_THAT(values(fed[0].second), ElementsAre(2));
  EXPECT_THAT(values(fed[1].second), ElementsAre(1, 10));
}

TEST_F(SubBlockTest, AnOperatorThatCannotWorkInPlaceMayOverwriteAnOuterVariable) {
  add("add_one", "x", "y");
  const std::int64_t body = add_loop();
  add_in(body, "reverse", "y", "y");
  add_in(body, "subtract_one", "n", "n");
  EXPECT_THAT(run_for(feeds(3, {1, 10}), "y"), ElementsAre(11, 2));
}

TEST_F(SubBlockTest, AVariableOfTheBlockLivesForOneStep) {
  add("add_one", "x", "y");
  const std::int64_t body = add_loop();
  program_.block(body).var("t")->set_shape({2});
  add_sum(body, "y", "t", "y");
  add_in(body, "add_one", "y", "t");
  add_in(body, "subtract_one", "n", "n");
  EXPECT_THAT([&] { run_for(feeds(2, {0, 0}), "y"); },
              ThrowsMessage<InvalidArgument>("add: Y 't' must be written before it is read, got no "
                                             "operator before that writes it"));
}

TEST_F(SubBlockTest, BlocksNestThreeDeep) {
  declare("m", {1}, false);
  add("add_one", "x", "sum");
  const std::int64_t outer = add_loop();
  add_in(outer, "subtract_one", "n", "n");
  add_in(outer, "add_one", "m", "left");  // the block's own: new in each of its steps
  const std::int64_t inner = new_block(outer);
  add_while(outer, "left", inner);
  add_in(inner, "subtract_one", "left", "left");
  const std::int64_t innermost = new_block(inner);
  add_if(inner, "left", innermost);
  add_in(innermost, "add_one", "sum", "sum");
  NamedTensors fed = feeds(3, {0, 10});
  fed.emplace_back("m", make({4}));
  EXPECT_THAT(run_for(fed, "sum"), ElementsAre(1 + 3 * 4, 11 + 3 * 4));
}

TEST_F(SubBlockTest, AVariableThatIsFirstWrittenInsideHasAValueWhereTheBlockWasRun) {
  program_.block(0).var("y");
  const std::int64_t body = new_block(0);
  add_if(0, "n", body);
  add_in(body, "add_one", "x", "y");
  add("add_one", "y", "z");
  EXPECT_THAT(run_for(feeds(1, {1, 10}), "z"), ElementsAre(3, 12));
  const auto missing = [&] { run_for(feeds(0, {1, 10}), "z"); };
  EXPECT_THAT(missing, ThrowsMessage<InvalidArgument>(
                           "add_one: X 'y' must be written before it is read, got "
                           "a block that was not run, or did not write it; write "
                           "it before the block too"));
  EXPECT_THAT([&] { run_for(feeds(0, {1, 10}), "y"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("fetch: 'y' must be written")));
  EXPECT_THAT(run_for(feeds(1, {1, 10}), "y"), ElementsAre(2, 11));
}

TEST_F(SubBlockTest, ChoosesBetweenBranchesOfWhichOneWasNotTaken) {
  program_.block(0).var("a");
  program_.block(0).var("b");
  program_.block(0).var("not_n");
  const std::int64_t then_block = new_block(0);
  add_if(0, "n", then_block);
  add_in(then_block, "add_one", "x", "a");
  const std::int64_t else_block = new_block(0);
  declare("m", {1}, false);
  add_if(0, "m", else_block);
  add_in(else_block, "reverse", "x", "b");
  add_to(0, OpDesc("choose", {{"Mask", {"n"}}, {"X", {"a"}}, {"Y", {"b"}}}, {{"Out", {"y"}}}));
  NamedTensors fed = feeds(1, {1, 10});
  fed.emplace_back("m", make({0}));
  EXPECT_THAT(run_for(fed, "y"), ElementsAre(2, 11));
  fed = feeds(0, {1, 10});
  fed.emplace_back("m", make({1}));
  EXPECT_THAT(run_for(fed, "y"), ElementsAre(10, 1));
}

TEST_F(SubBlockTest, ReadsInALaterStepWhatAnEarlierOneWrote) {
  program_.block(0).var("last")->set_shape({2});
  declare("first", {1}, false);
  add("add_one", "x", "y");
  const std::int64_t body = add_loop();
  const std::int64_t later = new_block(body);
  add_sum(body, "first", "n", "is_later");
  add_if(body, "is_later", later);
  add_sum(later, "y", "last", "y");
  add_in(body, "add_one", "x", "last");
  add_in(body, "subtract_one", "n", "n");
  NamedTensors fed = feeds(2, {1, 10});
  fed.emplace_back("first", make({-1}));  // 1 in the first step, 0 in the second
  EXPECT_THAT([&] { run_for(fed, "y"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("add: Y 'last' must be written before")));
}

TEST_F(SubBlockTest, KeepsTheShapeOfAnOuterVariable) {
  add("add_one", "x", "y");
  const std::int64_t body = new_block(0);
  add_if(0, "n", body);
  program_.block(body).append_op(OpDesc("add_one", {{"X", {"n"}}}, {{"Out", {"y"}}}));
  EXPECT_THAT([&] { run_for(feeds(1, {1, 2}), "y"); },
              ThrowsMessage<InvalidArgument>("add_one: Out 'y' must keep its shape in the block, "
                                             "float32 [2], got float32 [1]"));
}

TEST_F(SubBlockTest, UpdatesPersistableVariablesInTheScope) {
  declare("w", {2}, true);
  set("w", {1, 10});
  const std::int64_t body = add_loop();
  add_in(body, "reverse", "w", "w");
  add_in(body, "add_one", "w", "w");
  add_in(body, "subtract_one", "n", "n");
  run(feeds(3, {0, 0}), {});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(13, 4));
  run(feeds(0, {0, 0}), {});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(13, 4));
}

TEST_F(SubBlockTest, CreatesAPersistableVariableOnlyWhereTheBlockWasRun) {
  declare("w", {2}, true);
  const std::int64_t body = new_block(0);
  add_if(0, "n", body);
  add_in(body, "add_one", "x", "w");
  run(feeds(0, {1, 2}), {});
  EXPECT_EQ(scope_->find_var("w"), nullptr);
  run(feeds(1, {1, 2}), {});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(2, 3));
  add("add_one", "w", "y");
  EXPECT_THAT(run_for(feeds(0, {7, 7}), "y"), ElementsAre(3, 4));
}

TEST_F(SubBlockTest, LeavesTheScopeAsItWasWhenAKernelInALoopThrows) {
  declare("w", {2}, true);
  declare("created", {2}, true);
  set("w", {1, 10});
  const std::int64_t body = add_loop();
  add_in(body, "add_one", "w", "w");
  add_in(body, "add_one", "x", "created");
  add_in(body, "subtract_one", "n", "n");
  add_in(body, "subtract_one", "x", "x");
  add_in(body, "check", "x", "t");
  add_in(body, "add_one", "t", "t2");
  program_.block(body).var("t2")->set_persistable(true);
  try {
    run(feeds(3, {1, 1}), {});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "check: X must be at least 0, got -1.0");
    EXPECT_EQ(error.note(), "operator 4 of block 1 (check)");
  }
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(1, 10));
  EXPECT_EQ(scope_->find_var("created"), nullptr);
  run(feeds(3, {5, 5}), {});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(4, 13));
}

TEST_F(SubBlockTest, ScansASequenceWithAState) {
  const std::int64_t body = new_block(0);
  declare("sequence", {-1, 2}, false);
  program_.block(body).var("x_t")->set_shape({2});
  program_.block(body).var("h")->set_shape({2});
  add_in(body, "add_one", "x_t", "x_t");  // what the operator sets is not written to
  add_sum(body, "h", "x_t", "h_next");
  add_in(body, "reverse", "h_next", "out");
  add_to(0, OpDesc("scan", {{"X", {"sequence"}}, {"Y", {"x"}}}, {{"Out", {"outs"}}},
                   {{"slice", "x_t"},
                    {"state", "h"},
                    {"next", "h_next"},
                    {"result", "out"},
                    {"sub_block", BlockIndex{body}}}));
  Tensor sequence({{3, 2}, DType::kFloat32});
  for (int i = 0; i < 6; ++i) sequence.data<float>()[i] = static_cast<float>(i);
  const NamedTensors fed = {{"x", make({100, 200})}, {"sequence", sequence}};
  const Tensor outs = run(fed, {"outs"})[0];
  EXPECT_EQ(outs.shape(), Shape({3, 2}));
  EXPECT_THAT(values(outs), ElementsAre(202, 101, 206, 104, 212, 109));
  EXPECT_THAT(values(sequence), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(SubBlockTest, AnInputThatTheBlockOverwritesStaysWhatItWasForTheOperator) {
  const std::int64_t body = new_block(0);
  for (const char* name : {"x_t", "h"}) program_.block(body).var(name)->set_shape({2});
  declare("sequence", {3, 2}, false);
  add("reverse", "x", "start");
  add_in(body, "add_one", "sequence", "sequence");
  add_in(body, "add_one", "start", "start");
  add_sum(body, "h", "x_t", "out");
  add_to(0, OpDesc("scan", {{"X", {"sequence"}}, {"Y", {"start"}}}, {{"Out", {"outs"}}},
                   {{"slice", "x_t"},
                    {"state", "h"},
                    {"next", "out"},
                    {"result", "out"},
                    {"sub_block", BlockIndex{body}}}));
  Tensor sequence({{3, 2}, DType::kFloat32});
  std::fill_n(sequence.data<float>(), 6, 1.0f);
  const NamedTensors fed = {{"x", make({10, 20})}, {"sequence", sequence}};
  const std::vector<Tensor> results = run(fed, {"outs", "sequence", "start"});
  EXPECT_THAT(values(results[0]), ElementsAre(21, 11, 22, 12, 23, 13));
  EXPECT_THAT(values(results[1]), ElementsAre(4, 4, 4, 4, 4, 4));
  EXPECT_THAT(values(results[2]), ElementsAre(23, 13));
}

TEST_F(SubBlockTest, NamesAResultThatTheBlockDoesNotWrite) {
  const std::int64_t body = new_block(0);
  program_.block(body).var("x_t");
  program_.block(body).var("h");
  program_.block(body).var("out");
  add_to(0, OpDesc("scan", {{"X", {"x"}}, {"Y", {"n"}}}, {{"Out", {"outs"}}},
                   {{"slice", "x_t"},
                    {"state", "h"},
                    {"next", "h"},
                    {"result", "out"},
                    {"sub_block", BlockIndex{body}}}));
  EXPECT_THAT([&] { run(feeds(1, {1, 1}), {"outs"}); },
              ThrowsMessage<InvalidArgument>("scan: 'out' must be written in block 1, which the "
                                             "operator runs, got no operator that writes it"));
}

TEST_F(SubBlockTest, NamesTheOperatorInABlockThatMakesTheFirstNan) {
  options_.check_nan = true;
  const std::int64_t body = add_loop();
  add_in(body, "add_one", "x", "x");
  add_in(body, "subtract_one", "n", "n");
  try {
    run(feeds(1, {NAN, 0}), {"x"});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("add_one: output 'x' must be free of NaN"));
    EXPECT_EQ(error.note(), "operator 0 of block 1 (add_one)");
  }
}

TEST_F(SubBlockTest, AnArrayKeepsWhatALoopPushes) {
  declare_array(0, "stack");
  declare("m", {1}, false);
  add("add_one", "x", "y");
  const std::int64_t forward = add_loop();
  add_to(forward, OpDesc("push", {{"X", {"y"}}, {"Array", {"stack"}}}, {{"ArrayOut", {"stack"}}}));
  add_sum(forward, "y", "y", "y");
  add_in(forward, "subtract_one", "n", "n");
  add_to(0, OpDesc("length", {{"Array", {"stack"}}}, {{"Out", {"length"}}}));
  const std::int64_t backward = new_block(0);
  add_while(0, "m", backward);
  add_to(backward,
         OpDesc("pop", {{"Array", {"stack"}}}, {{"Out", {"top"}}, {"ArrayOut", {"stack"}}}));
  add_sum(backward, "y", "top", "y");
  add_in(backward, "subtract_one", "m", "m");
  NamedTensors fed = feeds(3, {0, 1});  // y: 1, 2 -> 2, 4 -> 4, 8 -> 8, 16
  fed.emplace_back("m", make({2}));
  for (int i = 0; i < 2; ++i) {  // an array starts empty in every run
    const std::vector<Tensor> results = run(fed, {"y", "length"});
    EXPECT_THAT(values(results[0]), ElementsAre(8 + 4 + 2, 16 + 8 + 4));
    EXPECT_THAT(values(results[1]), ElementsAre(3));
  }
}

TEST_F(SubBlockTest, AnArrayOfABlockStartsEmptyInEveryStep) {
  const std::int64_t body = add_loop();
  declare_array(body, "stack");
  program_.block(0).var("length")->set_shape({1});
  add_to(body, OpDesc("push", {{"X", {"x"}}, {"Array", {"stack"}}}, {{"ArrayOut", {"stack"}}}));
  add_to(body, OpDesc("length", {{"Array", {"stack"}}}, {{"Out", {"length"}}}));
  add_in(body, "subtract_one", "n", "n");
  EXPECT_THAT(run_for(feeds(4, {0, 1}), "length"), ElementsAre(1));
}

TEST_F(SubBlockTest, AnArrayNobodyWritesIsEmpty) {
  declare_array(0, "stack");
  add_to(0, OpDesc("length", {{"Array", {"stack"}}}, {{"Out", {"length"}}}));
  EXPECT_THAT(run_for(feeds(0, {0, 0}), "length"), ElementsAre(0));
  EXPECT_THAT([&] { run(feeds(0, {0, 0}), {"stack"}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("fetch: 'stack' must be a tensor")));
}

TEST_F(SubBlockTest, TellsArraysFromTensors) {
  declare_array(0, "stack");
  BlockDesc& block = program_.block(0);
  block.append_op(OpDesc("push", {{"X", {"x"}}, {"Array", {"stack"}}}, {{"ArrayOut", {"stack"}}}));
  block.append_op(OpDesc("add_one", {{"X", {"stack"}}}, {{"Out", {"y"}}}));
  block.append_op(OpDesc("length", {{"Array", {"x"}}}, {{"Out", {"z"}}}));
  EXPECT_THAT(
      [&] { run(feeds(0, {0, 0}), {"y"}); },
      ThrowsMessage<InvalidArgument>("add_one: X must be a tensor, got the tensor array 'stack'"));
  EXPECT_THAT(
      [&] { run(feeds(0, {0, 0}), {"z"}); },
      ThrowsMessage<InvalidArgument>("length: Array must be a tensor array, got the tensor 'x'"));
}

TEST_F(SubBlockTest, DrawsNewNumbersInEveryStepAndTheSameInARepeatedRun) {
  program_.set_random_seed(5);
  declare_array(0, "drawn");
  declare("one", {1}, false);
  const std::int64_t first = add_loop();
  const std::int64_t inner = new_block(first);
  for (const std::int64_t block : {first, inner}) {
    add_to(block, OpDesc("draw", {}, {{"Out", {block == first ? "a" : "b"}}}));
    add_to(block, OpDesc("draw", {}, {{"Out", {block == first ? "c" : "d"}}}, {{"seed", 3}}));
    for (const char* name : {block == first ? "a" : "b", block == first ? "c" : "d"}) {
      add_to(block,
             OpDesc("push", {{"X", {name}}, {"Array", {"drawn"}}}, {{"ArrayOut", {"drawn"}}}));
    }
  }
  add_if(first, "one", inner);
  add_in(first, "subtract_one", "n", "n");
  std::vector<std::string> tops;
  for (int i = 0; i < 12; ++i) {
    tops.push_back("top" + std::to_string(i));
    add_to(0, OpDesc("pop", {{"Array", {"drawn"}}},
                     {{"Out", {tops.back()}}, {"ArrayOut", {"drawn"}}}));
  }
  NamedTensors fed = feeds(3, {0, 0});
  fed.emplace_back("one", make({1}));
  const auto draw = [&](Executor& executor) {
    std::vector<float> numbers;
    for (const Tensor& top : executor.run(program_, fed, tops, scope_, options_)) {
      numbers.push_back(top.data<float>()[0]);
    }
    return numbers;
  };
  const std::vector<float> numbers = draw(executor_);
  EXPECT_EQ(std::set<float>(numbers.begin(), numbers.end()).size(), 12u);
  Executor again(ops_);
  EXPECT_EQ(draw(again), numbers);
  const std::vector<float> second_run = draw(executor_);
  for (std::size_t i = 0; i < 12; ++i) {
    // An operator with a seed of its own: c and d, pushed after a and b.
    EXPECT_EQ(second_run[i] == numbers[i], i % 2 == 0) << i;
  }
}

TEST_F(SubBlockTest, TemporariesOfALoopTakeNoMoreMemoryThanOneStepDoes) {
  declare("big", {1000}, false);
  add("add_one", "big", "y");
  for (int i = 0; i < 10; ++i) {
    const std::int64_t body = new_block(0);
    const std::string t = "t" + std::to_string(i);
    add_while(0, "n", body);
    add_in(body, "reverse", "y", t);
    add_in(body, "reverse", t, t + "a");
    add_in(body, "reverse", t + "a", "y");
    add_in(body, "subtract_one", "n", "n");
  }
  const Tensor big({{1000}, DType::kFloat32});
  const Plan plan(ops_, program_,
                  {.feeds = {{"n", {{1}, DType::kFloat32}}, {"big", big.spec()}}, .fetches = {"y"}},
                  *scope_);
  EXPECT_LE(plan.arena_bytes(), 3u * 4000 + 10 * 64);
}

}  // namespace
}  // namespace fluidcore
