#include "fluidcore/gradcheck/function/program_function.h"

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

using Names = std::vector<std::string>;

class ProgramFunctionTest : public ::testing::Test {
 protected:
  ProgramFunction function(const Names& inputs, const Names& outputs, std::uint64_t seed = 0) {
    return {builtin_ops(), runner_.program(), runner_.feeds(), inputs, outputs, seed};
  }
  // A variable that lives in the scope, with the value that it is fed.
  void parameter(const std::string& name, const Tensor& value) {
    runner_.feed(name, value);
    runner_.program().block(0).find_var(name)->set_persistable(true);
  }
  static std::vector<double> run(Function& f, std::size_t output = 0) {
    return values_of(f.run()[output]);
  }

  ProgramRunner runner_;
};

TEST_F(ProgramFunctionTest, FollowsTheElementsOfItsInputs) {
  runner_.feed("x", tensor_of({2}, {1, 2}));
  runner_.add("square", "x", "y");
  ProgramFunction f = function({"x"}, {"y"});
  EXPECT_THAT(run(f), ElementsAre(1, 4));
  f.inputs()[0].data<double>()[1] = 3;
  EXPECT_THAT(run(f), ElementsAre(1, 9));
}

TEST_F(ProgramFunctionTest, CopiesTheProgramAndTheValues) {
  const Tensor x = tensor_of({2}, {1, 2});
  const Tensor w = tensor_of({2}, {5, 7});
  runner_.feed("x", x);
  runner_.feed("w", w);
  runner_.add("elementwise_mul", "x", "w", "y", 0);
  ProgramFunction f = function({"x"}, {"y"});
  x.data<double>()[0] = 100;
  w.data<double>()[0] = 100;
  runner_.program().block(0).ops()[0]->set_type("elementwise_add");
  EXPECT_THAT(run(f), ElementsAre(5, 14));
  f.inputs()[0].data<double>()[0] = 2;
  run(f);
  EXPECT_EQ(x.data<double>()[0], 100);
}

TEST_F(ProgramFunctionTest, GivesWhatAnExecutorGives) {
  runner_.feed("x", random_tensor({4, 6}, DType::kFloat64, 1));
  runner_.feed("w", random_tensor({6, 3}, DType::kFloat64, 2));
  runner_.add("mul", "x", "w", "h", 0);
  runner_.add("softmax", "h", "y");
  ProgramFunction f = function({"x", "w"}, {"y", "h", "x"});
  EXPECT_EQ(run(f, 0), runner_.values("y"));
  EXPECT_EQ(run(f, 1), runner_.values("h"));
  EXPECT_EQ(run(f, 2), values_of(f.inputs()[0]));
}

TEST_F(ProgramFunctionTest, ParametersAreFed) {
  runner_.feed("x", tensor_of({1, 2}, {1, 2}));
  parameter("w", tensor_of({2, 1}, {3, 4}));
  runner_.add("mul", "x", "w", "y", 0);
  ProgramFunction f = function({"w"}, {"y"});
  EXPECT_THAT(run(f), ElementsAre(11));
}

TEST_F(ProgramFunctionTest, RefusesAParameterThatIsNotFed) {
  runner_.feed("x", tensor_of({1, 2}, {1, 2}));
  const auto w = runner_.program().block(0).var("w");
  w->set_shape({2, 1});
  w->set_dtype(DType::kFloat64);
  w->set_persistable(true);
  runner_.add("mul", "x", "w", "y", 0);
  EXPECT_THAT([&] { function({"x"}, {"y"}); },
              ThrowsMessage<InvalidArgument>(::testing::HasSubstr("'w' must be written before")));
}

TEST_F(ProgramFunctionTest, EveryRunBeginsWithTheFedParameters) {
  parameter("w", tensor_of({2}, {1, 2}));
  runner_.feed("rate", tensor_of({1}, {0.5}));
  runner_.add("square", "w", "grad");
  runner_.add(OpDesc("sgd", {{"Param", {"w"}}, {"LearningRate", {"rate"}}, {"Grad", {"grad"}}},
                     {{"ParamOut", {"w"}}}));
  ProgramFunction f = function({"w"}, {"w"});
  EXPECT_THAT(run(f), ElementsAre(0.5, 0));
  EXPECT_THAT(run(f), ElementsAre(0.5, 0));
  EXPECT_THAT(values_of(f.inputs()[0]), ElementsAre(1, 2));
}

TEST_F(ProgramFunctionTest, RunningMeansStayAsTheyAreFed) {
  runner_.feed("x", random_tensor({4, 2}, DType::kFloat64, 1));
  runner_.feed("scale", tensor_of({2}, {1, 2}));
  runner_.feed("bias", tensor_of({2}, {0, 1}));
  const Tensor mean = tensor_of({2}, {0.25, 0.5});
  parameter("mean", mean);
  parameter("variance", tensor_of({2}, {1, 1}));
  runner_.add(OpDesc("batch_norm",
                     {{"X", {"x"}},
                      {"Scale", {"scale"}},
                      {"Bias", {"bias"}},
                      {"Mean", {"mean"}},
                      {"Variance", {"variance"}}},
                     {{"Y", {"y"}},
                      {"MeanOut", {"mean"}},
                      {"VarianceOut", {"variance"}},
                      {"SavedMean", {"saved_mean"}},
                      {"SavedVariance", {"saved_variance"}}}));
  ProgramFunction f = function({"x", "mean"}, {"y", "mean"});
  const std::vector<double> first = run(f, 1);
  EXPECT_NE(first, values_of(mean));
  EXPECT_EQ(run(f, 1), first);
  EXPECT_THAT(values_of(mean), ElementsAre(0.25, 0.5));
  EXPECT_EQ(run(*f.fork(0), 1), first);
}

TEST_F(ProgramFunctionTest, ABlockMayWriteAParameter) {
  parameter("total", tensor_of({1}, {10}));
  runner_.feed("x", tensor_of({1}, {1}));
  runner_.feed_bool("yes", {true});
  const std::int64_t body = runner_.new_block();
  runner_.add("elementwise_add", "total", "x", "total", body);
  runner_.add(OpDesc("conditional_block", {{"X", {"yes"}}}, {{"Scope", {"was_run"}}},
                     {{"sub_block", BlockIndex{body}}, {"is_scalar_condition", true}}));
  runner_.add("square", "total", "y");
  ProgramFunction f = function({"x", "total"}, {"y"});
  EXPECT_THAT(run(f), ElementsAre(121));
  EXPECT_THAT(run(f), ElementsAre(121));
  EXPECT_THAT(values_of(f.inputs()[1]), ElementsAre(10));
}

TEST_F(ProgramFunctionTest, WhatABlockKeepsInTheScopeBelongsToTheRun) {
  runner_.feed("x", tensor_of({1}, {3}));
  runner_.feed_bool("yes", {true});
  const std::int64_t body = runner_.new_block();
  const auto kept = runner_.program().block(body).var("kept");
  kept->set_shape({1});
  kept->set_dtype(DType::kFloat64);
  kept->set_persistable(true);
  runner_.add("square", "x", "kept", body);
  runner_.given("y", 0, {{1}, DType::kFloat64});
  runner_.add("square", "kept", "y", body);
  runner_.add(OpDesc("conditional_block", {{"X", {"yes"}}}, {{"Scope", {"was_run"}}},
                     {{"sub_block", BlockIndex{body}}, {"is_scalar_condition", true}}));
  ProgramFunction f = function({"x"}, {"y"});
  EXPECT_THAT(run(f), ElementsAre(81));
}

TEST_F(ProgramFunctionTest, RandomOperatorsDrawTheSameNumbersInEveryRunAndFork) {
  runner_.feed("x", random_tensor({64}, DType::kFloat64, 1));
  runner_.add("square", "x", "before");
  runner_.add(OpDesc("dropout", {{"X", {"x"}}}, {{"Out", {"y"}}, {"Mask", {"mask"}}},
                     {{"dropout_prob", 0.5}}));
  ProgramFunction f = function({"x"}, {"y"}, 3);
  const std::vector<double> first = run(f);
  EXPECT_EQ(run(f), first);
  EXPECT_EQ(run(*f.fork(std::nullopt)), first);
  EXPECT_EQ(run(*f.fork(0)), first);
  ProgramFunction other = function({"x"}, {"y"}, 4);
  EXPECT_NE(run(other), first);
}

TEST_F(ProgramFunctionTest, ExtentsMayDependOnTheData) {
  runner_.feed("x", tensor_of({4, 1}, {1, -2, 3, -4}));
  runner_.feed("zero", tensor_of({1}, {0}));
  runner_.add("greater_than", "x", "zero", "mask", 0);
  runner_.add(OpDesc("split_lod_tensor", {{"X", {"x"}}, {"Mask", {"mask"}}},
                     {{"OutTrue", {"above"}}, {"OutFalse", {"below"}}}));
  runner_.add("square", "above", "y");
  ProgramFunction f = function({"x"}, {"y"});
  const auto fork = f.fork(0);
  for (Function* each : {static_cast<Function*>(&f), fork.get()}) {
    double* x = each->inputs()[0].data<double>();
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(run(*each), ElementsAre(1, 9));
      x[1] = 2;
      EXPECT_THAT(run(*each), ElementsAre(1, 4, 9));
      x[1] = -2;
    }
    x[0] = x[2] = -1;
    EXPECT_THAT(run(*each), ElementsAre());
  }
}

TEST_F(ProgramFunctionTest, ForksHaveMemoryOfTheirOwnAndBeginAtThePointOfNow) {
  runner_.feed("x", tensor_of({1}, {1}));
  runner_.add("square", "x", "y");
  ProgramFunction f = function({"x"}, {"y"});
  f.inputs()[0].data<double>()[0] = 2;
  const auto fork = f.fork(std::nullopt);
  f.inputs()[0].data<double>()[0] = 3;
  EXPECT_THAT(run(*fork), ElementsAre(4));
  EXPECT_THAT(run(f), ElementsAre(9));
  EXPECT_THAT(run(*fork->fork(0)), ElementsAre(4));
}

TEST_F(ProgramFunctionTest, ForksRunSideBySide) {
  runner_.feed("x", random_tensor({8, 8}, DType::kFloat64, 1));
  runner_.add("matmul", "x", "x", "y", 0);
  ProgramFunction f = function({"x"}, {"y"});
  const auto fork = f.fork(0);
  std::vector<double> first;
  std::thread thread([&] {
    for (int i = 0; i < 100; ++i) first = run(*fork);
  });
  for (int i = 0; i < 100; ++i) run(f);
  thread.join();
  EXPECT_EQ(first, run(f));
}

TEST_F(ProgramFunctionTest, AnErrorInOneRunDoesNotSpoilTheNext) {
  runner_.feed("x", tensor_of({1}, {1}));
  const std::int64_t body = runner_.new_block();
  runner_.feed("limit", tensor_of({1}, {10}));
  runner_.add("less_than", "x", "limit", "go", 0);
  runner_.add("assign", "x", "y");
  runner_.increment("y", body);
  runner_.add("less_than", "y", "limit", "go", body);
  runner_.add(OpDesc("while", {{"Condition", {"go"}}}, {{"StepScopes", {"steps"}}},
                     {{"sub_block", BlockIndex{body}}, {"max_steps", std::int64_t{20}}}));
  ProgramFunction f = function({"x"}, {"y"});
  EXPECT_THAT(run(f), ElementsAre(10));
  f.inputs()[0].data<double>()[0] = -1000;
  EXPECT_THROW(f.run(), InvalidArgument);
  f.inputs()[0].data<double>()[0] = 1.5;
  EXPECT_THAT(run(f), ElementsAre(10.5));
}

TEST_F(ProgramFunctionTest, SaysWhatItCannotTake) {
  runner_.feed("x", tensor_of({1}, {1}));
  runner_.feed_int("n", 1);
  runner_.add("square", "x", "y");
  EXPECT_THAT([&] { function({"input"}, {"y"}); },
              ThrowsMessage<NotFound>("program function: input 'input' must be one of the feeds"));
  runner_.feed("image", tensor_of({1}, {1}));
  EXPECT_THAT([&] { function({"imaeg"}, {"y"}); },
              ThrowsMessage<NotFound>("program function: input 'imaeg' must be one of the feeds; "
                                      "did you mean 'image'?"));
  EXPECT_THAT(
      [&] { function({"n"}, {"y"}); },
      ThrowsMessage<InvalidArgument>("program function: input 'n' must be floating, got int64"));
  EXPECT_THAT([&] { function({"x", "x"}, {"y"}); },
              ThrowsMessage<InvalidArgument>(
                  "program function: every input must be given once, got 'x' twice"));
  EXPECT_THAT(
      [&] { function({"x"}, {}); },
      ThrowsMessage<InvalidArgument>("program function: outputs must name a variable, got none"));
  EXPECT_THAT([&] { function({"x"}, {"n"}).run(); },
              ThrowsMessage<InvalidArgument>(
                  "program function: output 'n' must be floating, got int64; cast it"));
  EXPECT_THAT([&] { function({"x"}, {"z"}); },
              ThrowsMessage<NotFound>(::testing::HasSubstr("fetch: no variable 'z'")));
  EXPECT_THAT(
      [&] { function({"x"}, {"y"}).fork(1); },
      ThrowsMessage<InvalidArgument>("program function: only must name one of 1 inputs, got 1"));
  const auto with_threads = [&](int threads) {
    ProgramFunction(builtin_ops(), runner_.program(), runner_.feeds(), {"x"}, {"y"}, 0, threads);
  };
  EXPECT_THAT([&] { with_threads(0); },
              ThrowsMessage<InvalidArgument>("program function: threads must be at least 1 and at "
                                             "most 1024, got 0"));
}

}  // namespace
}  // namespace fluidcore::gradcheck
