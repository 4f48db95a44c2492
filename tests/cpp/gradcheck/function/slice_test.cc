#include "fluidcore/gradcheck/function/slice.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/program_function.h"
#include "fluidcore/ops/register_ops.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore::gradcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.spec() == b.spec() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}
// For every input, whatever its elements become: the fork for that input does what the whole
// program does.
void expect_same_outputs(ProgramRunner& runner,
                         const Names& inputs,
                         const Names& outputs,
                         std::uint64_t seed) {
  const ProgramFunction f(builtin_ops(), runner.program(), runner.feeds(), inputs, outputs, seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto whole = f.fork(std::nullopt);
    const auto part = f.fork(i);
    for (int move = 0; move < 3; ++move) {
      for (Function* function : {whole.get(), part.get()}) {
        const Tensor& x = function->inputs()[i];
        if (move > 0) Tensor(x).set_float_element(x.size() - 1, 0.1 * move);
      }
      const std::vector<Tensor>& expected = whole->run();
      const std::vector<Tensor>& actual = part->run();
      for (std::size_t j = 0; j < outputs.size(); ++j) {
        EXPECT_TRUE(same_bits(actual[j], expected[j]))
            << outputs[j] << " with another " << inputs[i] << ", move " << move;
      }
    }
  }
}

class SliceTest : public ::testing::Test {
 protected:
  void feed(const std::string& name, Shape shape, std::uint64_t seed = 1) {
    runner_.feed(name, random_tensor(std::move(shape), DType::kFloat64, seed));
    inputs_.push_back(name);
  }
  Slice slice_for(const std::string& input, const Names& outputs) {
    std::set<std::string> feeds;
    for (const auto& [name, tensor] : runner_.feeds()) feeds.insert(name);
    return slice(builtin_ops(), runner_.program(), feeds, input, outputs);
  }
  // The operators of block 0 that a slice runs, by their place.
  static std::vector<std::size_t> left(const Slice& slice) {
    std::vector<std::size_t> places;
    const auto& ops = slice.program->block(0).ops();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!ops[i]->output_arg_names().empty()) places.push_back(i);
    }
    return places;
  }
  void expect_same_outputs(const Names& outputs, std::uint64_t seed = 0) {
    gradcheck::expect_same_outputs(runner_, inputs_, outputs, seed);
  }

  ProgramRunner runner_;
  Names inputs_;
};

// x -> a -> b, w -> c; b + c -> y
class BranchesTest : public SliceTest {
 protected:
  BranchesTest() {
    feed("x", {3}, 1);
    feed("w", {3}, 2);
    runner_.add("tanh", "x", "a");
    runner_.add("square", "a", "b");
    runner_.add("exp", "w", "c");
    runner_.add("elementwise_add", "b", "c", "y", 0);
  }
};

TEST_F(BranchesTest, OnlyWhatDependsOnTheInputRuns) {
  const Slice x = slice_for("x", {"y"});
  EXPECT_THAT(left(x), ElementsAre(0, 1, 3));
  EXPECT_THAT(x.calculated, ElementsAre("c"));
  const Slice w = slice_for("w", {"y"});
  EXPECT_THAT(left(w), ElementsAre(2, 3));
  EXPECT_THAT(w.calculated, ElementsAre("b"));
  expect_same_outputs({"y"});
}

TEST_F(BranchesTest, OutputsThatDoNotChangeAreCalculatedOnce) {
  const Slice w = slice_for("w", {"a", "c"});
  EXPECT_THAT(left(w), ElementsAre(2, 3));
  EXPECT_THAT(w.calculated, ElementsAre("a", "b"));
  expect_same_outputs({"a", "c", "x", "y"});
}

TEST_F(BranchesTest, TheWholeProgramIsNoSlice) {
  runner_.add("elementwise_mul", "x", "w", "z", 0);
  ProgramRunner chain;
  chain.feed("x", tensor_of({1}, {1}));
  chain.add("tanh", "x", "y");
  EXPECT_EQ(slice(builtin_ops(), chain.program(), {"x"}, "x", {"y"}).program, nullptr);
  EXPECT_NE(slice_for("x", {"z"}).program, nullptr);
}

TEST_F(SliceTest, AnOperatorThatReadsOnlyTheShapeDoesNotDepend) {
  feed("x", {3});
  feed("w", {3}, 2);
  runner_.add("fill_zeros_like", "x", "zeros");
  runner_.add("elementwise_add", "zeros", "w", "z", 0);
  runner_.add("elementwise_mul", "z", "x", "y", 0);
  const Slice x = slice_for("x", {"y"});
  EXPECT_THAT(left(x), ElementsAre(2));
  EXPECT_THAT(x.calculated, ElementsAre("z"));
  expect_same_outputs({"y", "zeros"});
}

TEST_F(SliceTest, AFanOutIsReplayedWhole) {
  feed("x", {2, 2});
  feed("w", {2, 2}, 2);
  runner_.add("exp", "x", "a");
  runner_.add("elementwise_mul", "a", "x", "b", 0);
  runner_.add("elementwise_mul", "a", "w", "c", 0);
  runner_.add("matmul", "b", "c", "y", 0);
  EXPECT_THAT(left(slice_for("w", {"y"})), ElementsAre(2, 3));
  expect_same_outputs({"y", "b"});
}

TEST_F(SliceTest, AVariableThatIsWrittenTwiceIsFedOnlyWhenNoOneReadsItBefore) {
  feed("x", {3});
  feed("w", {3}, 2);
  runner_.add("exp", "w", "a");
  runner_.add("square", "a", "a");
  runner_.add("elementwise_add", "a", "x", "y", 0);
  const Slice late = slice_for("x", {"y"});
  EXPECT_THAT(left(late), ElementsAre(2));
  EXPECT_THAT(late.calculated, ElementsAre("a"));
  runner_.add("tanh", "w", "a");
  runner_.add("elementwise_add", "a", "y", "z", 0);
  EXPECT_EQ(slice_for("x", {"z"}).program, nullptr) << "x is added to an a in between";
  expect_same_outputs({"y", "z", "a"});
}

TEST_F(SliceTest, AProgramInPlaceStaysRight) {
  feed("x", {3});
  feed("w", {3}, 2);
  runner_.add("exp", "w", "w");
  runner_.add("elementwise_add", "x", "w", "x", 0);
  runner_.add("square", "w", "w");
  runner_.add("elementwise_mul", "x", "w", "x", 0);
  runner_.add("square", "x", "y");
  expect_same_outputs({"x", "w", "y"});
}

TEST_F(SliceTest, AnInputThatIsOverwrittenByAConstantStaysRight) {
  feed("x", {3});
  feed("w", {3}, 2);
  runner_.add("exp", "x", "y");
  runner_.add("exp", "w", "x");
  runner_.add("elementwise_add", "x", "y", "z", 0);
  expect_same_outputs({"z", "y", "x"});
  runner_.add("square", "x", "x_only");
  EXPECT_THAT(slice_for("w", {"x_only"}).calculated, ElementsAre("y"));
  expect_same_outputs({"x_only"});
}

TEST_F(SliceTest, RandomOperatorsKeepTheirPlaces) {
  feed("x", {40});
  feed("w", {40}, 2);
  const AttributeMap half = {{"dropout_prob", 0.5}};
  runner_.add("exp", "w", "a");
  runner_.add(OpDesc("dropout", {{"X", {"a"}}}, {{"Out", {"b"}}, {"Mask", {"m"}}}, half));
  runner_.add(OpDesc("dropout", {{"X", {"x"}}}, {{"Out", {"c"}}, {"Mask", {"n"}}}, half));
  runner_.add("elementwise_add", "b", "c", "y", 0);
  EXPECT_THAT(left(slice_for("x", {"y"})), ElementsAre(2, 3));
  expect_same_outputs({"y", "n", "m"}, 7);
}

TEST_F(SliceTest, ExtentsThatDependOnTheDataAreSettled) {
  feed("x", {4, 1});
  feed("w", {4, 1}, 2);
  runner_.feed("zero", tensor_of({1}, {0}));
  runner_.add("greater_than", "x", "zero", "mask", 0);
  runner_.add(OpDesc("split_lod_tensor", {{"X", {"x"}}, {"Mask", {"mask"}}},
                     {{"OutTrue", {"a"}}, {"OutFalse", {"b"}}}));
  runner_.add("elementwise_mul", "x", "w", "c", 0);
  runner_.add("mean", "a", "mean_a");
  runner_.add("mean", "c", "mean_c");
  runner_.add("elementwise_add", "mean_a", "mean_c", "y", 0);
  expect_same_outputs({"y", "b"});
}

TEST_F(SliceTest, TensorArraysAreNotFed) {
  feed("x", {2});
  feed("w", {2}, 2);
  runner_.feed_int("i", 0);
  runner_.feed_int("j", 1);
  runner_.array("array");
  const auto write = [&](const std::string& x, const std::string& i) {
    runner_.add(OpDesc("write_to_array", {{"X", {x}}, {"I", {i}}}, {{"Out", {"array"}}}));
  };
  runner_.add("exp", "w", "a");
  write("a", "i");
  write("x", "j");
  runner_.add(OpDesc("read_from_array", {{"X", {"array"}}, {"I", {"i"}}}, {{"Out", {"y"}}}));
  runner_.add(OpDesc("read_from_array", {{"X", {"array"}}, {"I", {"j"}}}, {{"Out", {"z"}}}));
  runner_.add("elementwise_add", "y", "z", "sum", 0);
  const Slice x = slice_for("x", {"sum"});
  EXPECT_THAT(left(x), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(x.calculated, ElementsAre("a"));
  expect_same_outputs({"sum", "y"});
}

// y = x w^n, then z = y + b: a loop that multiplies by w.
class LoopTest : public SliceTest {
 protected:
  LoopTest() {
    for (const char* name : {"x", "w", "b"}) feed(name, {2}, static_cast<std::uint64_t>(*name));
    runner_.feed_int("i0", 0);
    runner_.feed_int("n", 3);
    runner_.add("assign", "x", "y");
    runner_.add("assign", "i0", "i");
    runner_.add("less_than", "i", "n", "go", 0);
    const std::int64_t body = runner_.new_block();
    runner_.add("elementwise_mul", "y", "w", "y", body);
    runner_.increment("i", body);
    runner_.add("less_than", "i", "n", "go", body);
    runner_.add(OpDesc("while", {{"Condition", {"go"}}}, {{"StepScopes", {"steps"}}},
                       {{"sub_block", BlockIndex{body}}, {"max_steps", std::int64_t{10}}}));
    runner_.add("elementwise_add", "y", "b", "z", 0);
  }
};

TEST_F(LoopTest, ALoopIsReplayedWhole) {
  EXPECT_EQ(slice_for("x", {"z"}).program, nullptr);
  expect_same_outputs({"z", "y"});
}

TEST_F(LoopTest, ALoopBeforeTheInputRunsOnce) {
  const Slice b = slice_for("b", {"z", "y"});
  EXPECT_THAT(left(b), ElementsAre(4));
  EXPECT_THAT(b.calculated, ElementsAre("y"));
  EXPECT_THAT(b.program->block(1).ops(), IsEmpty());
}

TEST_F(SliceTest, AConditionalThatMayNotRunIsReplayedWithWhatItReplaces) {
  feed("x", {2});
  feed("w", {2}, 2);
  runner_.feed_bool("no", {false});
  runner_.add("exp", "w", "y");
  const std::int64_t body = runner_.new_block();
  runner_.add("square", "x", "y", body);
  runner_.add(OpDesc("conditional_block", {{"X", {"no"}}}, {{"Scope", {"was_run"}}},
                     {{"sub_block", BlockIndex{body}}, {"is_scalar_condition", true}}));
  runner_.add("tanh", "y", "z");
  expect_same_outputs({"z"});
}

TEST_F(SliceTest, WhatMayHaveNoValueIsNotFed) {
  feed("x", {2});
  feed("w", {2}, 2);
  runner_.feed_bool("no", {false});
  runner_.feed("which", tensor_of({1}, {0}, DType::kInt32));
  runner_.given("unset", 0, {{2}, DType::kFloat64});
  const std::int64_t body = runner_.new_block();
  runner_.add("square", "w", "unset", body);
  runner_.add(OpDesc("conditional_block", {{"X", {"no"}}}, {{"Scope", {"was_run"}}},
                     {{"sub_block", BlockIndex{body}}, {"is_scalar_condition", true}}));
  runner_.add(
      OpDesc("select_input", {{"X", {"x", "unset"}}, {"Mask", {"which"}}}, {{"Out", {"y"}}}));
  expect_same_outputs({"y"});
}

// The block that reads it does not run either.
TEST_F(SliceTest, WhatHasNoValueNeedsNone) {
  feed("x", {2});
  feed("w", {2}, 2);
  runner_.feed_bool("no", {false});
  runner_.given("unset", 0, {{2}, DType::kFloat64});
  for (const bool writes : {true, false}) {
    const std::int64_t body = runner_.new_block();
    if (writes) {
      runner_.add("square", "w", "unset", body);
    } else {
      runner_.add("elementwise_add", "x", "unset", "x", body);
    }
    runner_.add(OpDesc("conditional_block", {{"X", {"no"}}},
                       {{"Scope", {writes ? "wrote" : "read"}}},
                       {{"sub_block", BlockIndex{body}}, {"is_scalar_condition", true}}));
  }
  runner_.add("square", "x", "y");
  expect_same_outputs({"y"});
}

TEST_F(SliceTest, RecurrentOperatorsAreReplayedWhole) {
  feed("x", {3, 2});
  feed("start", {2}, 2);
  feed("w", {2}, 3);
  const std::int64_t body = runner_.new_block();
  runner_.given("x_t", body, {{2}, DType::kFloat64});
  runner_.given("s_before", body, {{2}, DType::kFloat64});
  runner_.add("elementwise_mul", "s_before", "w", "kept", body);
  runner_.add("elementwise_add", "kept", "x_t", "s_t", body);
  runner_.add("exp", "start", "begin");
  runner_.add(OpDesc("recurrent", {{"inputs", {"x"}}, {"initial_states", {"begin"}}},
                     {{"outputs", {"sums"}}, {"step_scopes", {"steps"}}},
                     {{"sub_block", BlockIndex{body}},
                      {"step_inputs", Names{"x_t"}},
                      {"step_outputs", Names{"s_t"}},
                      {"ex_states", Names{"s_before"}},
                      {"states", Names{"s_t"}}}));
  runner_.add("mean", "sums", "y");
  const Slice x = slice_for("x", {"y"});
  EXPECT_THAT(left(x), ElementsAre(1, 2));
  EXPECT_THAT(x.calculated, ElementsAre("begin"));
  expect_same_outputs({"y", "sums"});
}

// One pseudo-random program after another: operators that read and write a few variables, often
// the same ones.
TEST(AnySliceTest, AnyProgramOfOperatorsInPlaceStaysRight) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    ProgramRunner runner;
    Names inputs = {"a", "b", "c"};
    for (const std::string& name : inputs) {
      runner.feed(name,
                  random_tensor({2}, DType::kFloat64, 3 * seed + static_cast<unsigned>(name[0])));
    }
    std::uint64_t state = seed * 2654435761u + 1;
    const auto draw = [&state](std::uint64_t bound) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      return (state >> 33) % bound;
    };
    Names known = inputs;
    const auto pick = [&] { return known[draw(known.size())]; };
    for (int i = 0; i < 8; ++i) {
      const std::string fresh = "v" + std::to_string(i);
      const std::string out = draw(2) == 0 ? pick() : fresh;
      switch (draw(4)) {
        case 0: runner.add("tanh", pick(), out); break;
        case 1: runner.add("elementwise_add", pick(), pick(), out, 0); break;
        case 2: runner.add("elementwise_mul", pick(), pick(), out, 0); break;
        default: runner.add("fill_zeros_like", pick(), out);
      }
      if (out == fresh) known.push_back(fresh);
    }
    SCOPED_TRACE(to_string(runner.program()));
    expect_same_outputs(runner, inputs, {pick(), pick()}, 0);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace fluidcore::gradcheck
