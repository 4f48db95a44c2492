// Blocks with what lives longer than one of their steps: the scope, arrays, random numbers, memory.

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/runtime/plan.h"
#include "runtime/sub_block_fixture.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

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

TEST_F(SubBlockTest, WhatALoopOnlyReadsIsAConstantUntilItEnds) {
  for (const char* name : {"before", "first", "second"}) declare(name, {1}, true);
  add("add_one", "x", "y");
  add("version", "y", "before");
  const std::int64_t body = add_loop();
  add_in(body, "version", "y", "first");
  add_in(body, "version", "y", "second");
  add_in(body, "subtract_one", "n", "n");
  EXPECT_THAT(run_for(feeds(3, {1, 10}), "first"), ElementsAre(1));
  EXPECT_THAT(run_for(feeds(3, {1, 10}), "first"), ElementsAre(2));
  EXPECT_THAT(run_for(feeds(3, {1, 10}), "before"), ElementsAre(-1));
}

TEST_F(SubBlockTest, WhatALoopWritesIsNoConstantButInALoopInside) {
  for (const char* name : {"outside", "inside"}) declare(name, {1}, true);
  add("add_one", "x", "y");
  add_constant("two", 2);
  const std::int64_t outer = add_loop();
  add_in(outer, "version", "y", "outside");
  add_in(outer, "add_one", "two", "m");
  const std::int64_t inner = new_block(outer);
  program_.block(outer).var("m")->set_shape({1});
  add_while(outer, "m", inner);
  add_in(inner, "version", "y", "inside");
  add_in(inner, "subtract_one", "m", "m");
  add_in(outer, "add_one", "y", "y");
  add_in(outer, "subtract_one", "n", "n");
  EXPECT_THAT(run_for(feeds(3, {1, 10}), "outside"), ElementsAre(-1));
  EXPECT_THAT(run_for(feeds(3, {1, 10}), "inside"), ElementsAre(3));
}

TEST_F(SubBlockTest, ABlockThatRunsAtMostOnceHasNoConstantsOfItsOwn) {
  declare("inside", {1}, true);
  add("add_one", "x", "y");
  const std::int64_t branch = new_block(0);
  add_if(0, "n", branch);
  add_in(branch, "version", "y", "inside");
  EXPECT_THAT(run_for(feeds(1, {1, 10}), "inside"), ElementsAre(-1));
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
