// What blocks do to the variables around them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sub_block_fixture.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

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

TEST_F(SubBlockTest, AVariableOfTheBlockCannotBeFetched) {
  const std::int64_t body = add_loop();
  add_in(body, "add_one", "x", "t");
  EXPECT_THAT([&] { run_for(feeds(0, {0, 0}), "t"); },
              ThrowsMessage<NotFound>(
                  "fetch: 't' must be a variable of block 0, got one of block 1, which lives for "
                  "one run of that block; assign it to a variable of block 0"));
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

}  // namespace
}  // namespace fluidcore
