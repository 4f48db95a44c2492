#include "fluidcore/op/infer.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ThrowsMessage;

OpRegistry relu_ops() {
  OpRegistry registry;
  registry.add(OpDef("relu")
                   .input("X", "any shape")
                   .output("Out", "shape of X")
                   .output("Mask", "shape of X", {.intermediate = true})
                   .attr("slope", 0.0, "for negative elements")
                   .infer(same_as("X")));
  return registry;
}

OpDesc relu(const std::string& x = "x", const std::string& out = "out") {
  return OpDesc("relu", {{"X", {x}}}, {{"Out", {out}}});
}

class InferTest : public ::testing::Test {
 protected:
  InferTest() {
    program_.block(0).var("x")->set_shape({-1, 3});
    program_.block(0).var("x")->set_dtype(DType::kFloat64);
  }

  BlockDesc::OpPtr add(OpDesc op, std::int64_t block = 0) {
    return add_op(registry_, program_, block, program_.block(block).ops().size(), std::move(op));
  }

  OpRegistry registry_ = relu_ops();
  ProgramDesc program_;
};

TEST_F(InferTest, CompletesTheOperatorAndCreatesItsOutputs) {
  add(relu());
  EXPECT_EQ(to_string(program_),
            "block 0:\n"
            "  x: float64 [-1, 3]\n"
            "  out: float64 [-1, 3]\n"
            "  relu(X=x) -> Out=out   # slope=0.0\n");
}

TEST_F(InferTest, InsertsTheOperatorWhereItIsToldTo) {
  add(relu("x", "b"));
  add_op(registry_, program_, 0, 0, relu("x", "a"));
  EXPECT_EQ(program_.block(0).ops()[0]->output("Out")[0], "a");
  EXPECT_THROW(add_op(registry_, program_, 0, 3, relu()), InvalidArgument);
}

TEST_F(InferTest, SeesTheVariablesOfBlocksAround) {
  program_.append_block(0);
  add(relu("x", "inner"), 1);
  EXPECT_EQ(program_.block(1).find_var("inner")->shape(), (Shape{-1, 3}));
  EXPECT_EQ(program_.block(0).find_var("inner"), nullptr);
}

TEST_F(InferTest, UpdatesAnOutputThatIsThere) {
  program_.block(0).var("out")->set_shape({7});
  add(relu());
  EXPECT_EQ(program_.block(0).find_var("out")->shape(), (Shape{-1, 3}));
}

TEST_F(InferTest, KeepsADeclaredShapeThatAgrees) {
  const auto kept = program_.block(0).var("kept");
  kept->set_shape({-1, -1});
  kept->set_dtype(DType::kFloat64);
  kept->set_persistable(true);
  add(relu("x", "kept"));
  EXPECT_EQ(kept->shape(), (Shape{-1, -1}));
}

TEST_F(InferTest, RefusesADeclaredExtentThatMayNotAgreeWhenTheProgramRuns) {
  const auto kept = program_.block(0).var("kept");
  kept->set_shape({5, 3});
  kept->set_dtype(DType::kFloat64);
  kept->set_persistable(true);
  EXPECT_THAT([&] { add(relu("x", "kept")); },
              ThrowsMessage<InvalidArgument>(
                  "relu: Out must fit the variable 'kept', declared as float64 [5, 3], got float64 "
                  "[-1, 3]; declare it with -1 where an extent is not known"));
}

TEST_F(InferTest, RefusesADeclaredShapeThatDoesNotAgree) {
  const auto kept = program_.block(0).var("kept");
  kept->set_shape({5, 4});
  kept->set_dtype(DType::kFloat64);
  kept->set_persistable(true);
  EXPECT_THAT([&] { add(relu("x", "kept")); },
              ThrowsMessage<InvalidArgument>("relu: Out must fit the variable 'kept', declared as "
                                             "float64 [5, 4], got float64 [-1, 3]"));
}

TEST_F(InferTest, ChangesNothingWhenTheOperatorIsRefused) {
  const std::string before = to_string(program_);
  EXPECT_THAT([&] { add(relu("y")); },
              ThrowsMessage<NotFound>("relu: X must be a variable of block 0 or of a block around "
                                      "it, got the unknown name 'y'"));
  OpDesc wrong = relu();
  wrong.set_attr("slope", std::string("steep"));
  EXPECT_THROW(add(wrong), InvalidArgument);
  OpDesc unknown = relu();
  unknown.set_type("rely");
  EXPECT_THROW(add(unknown), NotFound);
  EXPECT_EQ(to_string(program_), before);
}

TEST_F(InferTest, MakesNoVariableForAnOutputThatNobodyWants) {
  add(relu("x", std::string(kEmptyName)));
  EXPECT_EQ(program_.block(0).find_var(kEmptyName), nullptr);
}

}  // namespace
}  // namespace fluidcore
