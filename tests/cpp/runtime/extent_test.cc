// Programs with extents that depend on the data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor_fixture.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

class ExtentTest : public ExecutorTest {
 protected:
  ExtentTest() {
    declare("x", {4}, false);
    declare("n", {1}, false);
  }
};

TEST_F(ExtentTest, IsWhatTheDataAsksFor) {
  add("select", "x", "y");
  add("add_one", "y", "z");
  EXPECT_THAT(run_for({{"x", make({1, 0, 2, 0})}}, "z"), ElementsAre(2, 3));
  EXPECT_THAT(run_for({{"x", make({0, 0, 2, 0})}}, "z"), ElementsAre(3));
  EXPECT_THAT(run_for({{"x", make({0, 0, 0, 0})}}, "z"), ElementsAre());
  EXPECT_THAT(run_for({{"x", make({3, 4, 5, 6})}}, "z"), ElementsAre(4, 5, 6, 7));
}

TEST_F(ExtentTest, PlansAreKeptForEveryExtent) {
  add("select", "x", "y");
  for (int i = 0; i < 3; ++i) {
    run({{"x", make({1, 0, 2, 0})}}, {"y"});
    run({{"x", make({0, 0, 2, 0})}}, {"y"});
  }
  EXPECT_EQ(executor_.cached_plans(), 3u);  // 0, the first guess, 2 and 1
}

TEST_F(ExtentTest, PlansAreKeptForExtentsThatChangeTogether) {
  add("select", "x", "y");
  add("subtract_one", "y", "y");
  add("select", "y", "z");
  const auto both = [&] {
    EXPECT_THAT(run_for({{"x", make({1, 5, 2, 0})}}, "z"), ElementsAre(4, 1));
    EXPECT_THAT(run_for({{"x", make({0, 5, 0, 0})}}, "z"), ElementsAre(4));
  };
  both();
  both();
  const std::size_t plans = executor_.cached_plans();
  both();
  EXPECT_EQ(executor_.cached_plans(), plans);
}

TEST_F(ExtentTest, OneMayDependOnAnother) {
  add("select", "x", "y");
  add("subtract_one", "y", "y");
  add("select", "y", "z");
  EXPECT_THAT(run_for({{"x", make({1, 5, 2, 0})}}, "z"), ElementsAre(4, 1));
  EXPECT_THAT(run_for({{"x", make({1, 1, 1, 1})}}, "z"), ElementsAre());
}

TEST_F(ExtentTest, ARunThatBeginsAgainChangesTheScopeOnce) {
  declare("w", {2}, true);
  set("w", {1, 2});
  add("add_one", "w", "w");
  add("select", "x", "y");
  run({{"x", make({1, 0, 2, 0})}}, {"y"});
  EXPECT_THAT(values(scope_->find_var("w")->tensor()), ElementsAre(2, 3));
}

TEST_F(ExtentTest, ARunThatBeginsAgainDrawsTheSameNumbers) {
  program_.set_random_seed(1);
  add_to(0, OpDesc("draw", {}, {{"Out", {"number"}}}));
  const float plain = run_for({}, "number")[0];
  ProgramDesc with_extent;
  with_extent.set_random_seed(1);
  with_extent.block(0).append_op(OpDesc("draw", {}, {{"Out", {"number"}}}));
  with_extent.block(0).append_op(OpDesc("select", {{"X", {"number"}}}, {{"Out", {"y"}}}));
  const std::vector<Tensor> results =
      executor_.run(with_extent, {}, {"number", "y"}, scope_, options_);
  EXPECT_EQ(results[0].data<float>()[0], plain);
  EXPECT_EQ(values(results[1]), values(results[0]));
}

// The first guess of an extent, 0, would not fit.
TEST_F(ExtentTest, AGuessThatDoesNotFitIsNoError) {
  add("select", "x", "y");
  const auto y = program_.block(0).find_var("y");
  declare("two", {2}, false);
  program_.block(0).append_op(OpDesc("add", {{"X", {"y"}}, {"Y", {"two"}}}, {{"Out", {"z"}}}));
  program_.block(0).append_op(OpDesc("add_one", {{"X", {"z"}}}, {{"Out", {"out"}}}));
  EXPECT_THAT(run_for({{"x", make({1, 0, 2, 0})}, {"two", make({10, 20})}}, "out"),
              ElementsAre(12, 23));
  EXPECT_THAT([&] { run({{"x", make({1, 0, 0, 0})}, {"two", make({10, 20})}}, {"out"}); },
              ThrowsMessage<InvalidArgument>(
                  "add: Y must have the shape of X, float32 [1], got float32 [2]"));
}

TEST_F(ExtentTest, TwoThatMustAgreeMayChangeTogether) {
  add("select", "x", "y");
  add("select", "x", "z");
  add_sum(0, "y", "z", "sum");
  EXPECT_THAT(run_for({{"x", make({1, 0, 2, 0})}}, "sum"), ElementsAre(2, 4));
  EXPECT_THAT(run_for({{"x", make({1, 4, 2, 0})}}, "sum"), ElementsAre(2, 8, 4));
  EXPECT_THAT(run_for({{"x", make({1, 0, 2, 0})}}, "sum"), ElementsAre(2, 4));
}

TEST_F(ExtentTest, AGuessThatDoesNotFitIsNoErrorInABlockEither) {
  declare("two", {2}, false);
  program_.block(0).var("out")->set_shape({2});
  const std::int64_t body = new_block(0);
  add_if(0, "n", body);
  BlockDesc& block = program_.block(body);
  block.append_op(OpDesc("select", {{"X", {"x"}}}, {{"Out", {"out"}}}));
  block.append_op(OpDesc("add", {{"X", {"out"}}, {"Y", {"two"}}}, {{"Out", {"out"}}}));
  program_.block(0).append_op(OpDesc("add_one", {{"X", {"out"}}}, {{"Out", {"z"}}}));
  const NamedTensors fed = {{"n", make({1})}, {"x", make({1, 0, 2, 0})}, {"two", make({10, 20})}};
  EXPECT_THAT(run_for(fed, "z"), ElementsAre(12, 23));
}

TEST_F(ExtentTest, MayBeTheSameInEveryStepOfALoop) {
  add("add_one", "n", "sum");
  const std::int64_t body = new_block(0);
  add_while(0, "n", body);
  add_in(body, "select", "x", "y");
  add_in(body, "select", "sum", "z");
  add_sum(body, "sum", "z", "sum");
  add_in(body, "subtract_one", "n", "n");
  EXPECT_THAT(run_for({{"x", make({1, 0, 2, 0})}, {"n", make({3})}}, "sum"), ElementsAre(32));
}

TEST_F(ExtentTest, MayNotChangeFromStepToStep) {
  const std::int64_t body = new_block(0);
  add_while(0, "n", body);
  add_in(body, "subtract_one", "x", "x");
  add_in(body, "select", "x", "y");
  add_in(body, "subtract_one", "n", "n");
  program_.block(0).var("sum")->set_shape({1});
  declare_array(0, "kept");
  add_to(body, OpDesc("push", {{"X", {"y"}}, {"Array", {"kept"}}}, {{"ArrayOut", {"kept"}}}));
  add_to(0, OpDesc("length", {{"Array", {"kept"}}}, {{"Out", {"length"}}}));
  const NamedTensors fed = {{"x", make({2, 3, 4, 0})}, {"n", make({3})}};
  for (int i = 0; i < 2; ++i) {
    try {
      run(fed, {"length"});
      FAIL();
    } catch (const InvalidArgument& error) {
      EXPECT_STREQ(error.what(), i == 0 ? "select: must give the same extents in every step of "
                                          "a loop, got [3] and [2]"
                                        : "select: must give the same extents in every step of "
                                          "a loop, got [2] and [3]");
      EXPECT_EQ(error.note(), "operator 1 of block 1 (select)");
    }
  }
}

}  // namespace
}  // namespace fluidcore
