#include "fluidcore/program/block_desc.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

class BlockDescTest : public ::testing::Test {
 protected:
  std::vector<std::string> types() const {
    std::vector<std::string> types;
    for (const auto& op : block_.ops()) types.push_back(op->type());
    return types;
  }

  Revision revision_ = std::make_shared<std::uint64_t>(0);
  BlockDesc block_{0, -1, revision_};
};

TEST_F(BlockDescTest, InsertsOperatorsAnywhere) {
  block_.append_op(OpDesc("b", {}, {}));
  block_.insert_op(0, OpDesc("a", {}, {}));
  block_.insert_op(2, OpDesc("c", {}, {}));
  EXPECT_THAT(types(), ElementsAre("a", "b", "c"));
  EXPECT_THAT([&] { block_.insert_op(4, OpDesc()); },
              ThrowsMessage<InvalidArgument>("block 0: an operator can be added at 0 to 3, got 4"));
}

TEST_F(BlockDescTest, RemovesARangeOfOperators) {
  for (const char* type : {"a", "b", "c", "d"}) block_.append_op(OpDesc(type, {}, {}));
  block_.remove_op(1, 3);
  EXPECT_THAT(types(), ElementsAre("a", "d"));
  block_.remove_op(1, 1);
  EXPECT_THAT(types(), ElementsAre("a", "d"));
  EXPECT_THAT(
      [&] { block_.remove_op(1, 3); },
      ThrowsMessage<InvalidArgument>("block 0: operators 1 to 3 cannot be removed, it has 2"));
  EXPECT_THROW(block_.remove_op(1, 0), InvalidArgument);
}

TEST_F(BlockDescTest, KeepsTheHandleOfARemovedOperatorValid) {
  const BlockDesc::OpPtr op = block_.append_op(OpDesc("relu", {{"X", {"x"}}}, {}));
  block_.remove_op(0, 1);
  const std::uint64_t revision = *revision_;
  op->set_type("tanh");
  EXPECT_EQ(op->type(), "tanh");
  EXPECT_THAT(op->input("X"), ElementsAre("x"));
  EXPECT_EQ(*revision_, revision) << "a removed operator no longer changes the program";
}

TEST_F(BlockDescTest, AddsACopyOfTheOperator) {
  const BlockDesc::OpPtr first = block_.append_op(OpDesc("relu", {}, {}));
  const BlockDesc::OpPtr second = block_.append_op(*first);
  second->set_type("tanh");
  EXPECT_THAT(types(), ElementsAre("relu", "tanh"));
}

TEST_F(BlockDescTest, FindsOrCreatesVariablesInOrder) {
  const BlockDesc::VarPtr x = block_.var("x");
  block_.var("a");
  EXPECT_EQ(block_.var("x"), x);
  EXPECT_EQ(block_.find_var("x"), x);
  EXPECT_EQ(block_.find_var("y"), nullptr);
  ASSERT_EQ(block_.vars().size(), 2u);
  EXPECT_EQ(block_.vars()[0]->name(), "x");
  EXPECT_EQ(block_.vars()[1]->name(), "a");
}

TEST_F(BlockDescTest, KeepsTheHandleOfARemovedVariableValid) {
  const BlockDesc::VarPtr x = block_.var("x");
  block_.remove_vars({"x"});
  EXPECT_EQ(block_.find_var("x"), nullptr);
  const std::uint64_t revision = *revision_;
  x->set_shape({2});
  EXPECT_EQ(x->name(), "x");
  EXPECT_EQ(*revision_, revision);
  EXPECT_THAT([&] { block_.remove_vars({"x"}); },
              ThrowsMessage<NotFound>("block 0: no variable 'x'"));
}

TEST_F(BlockDescTest, RenamesAVariableInEveryOperator) {
  block_.var("x")->set_shape({3});
  block_.append_op(OpDesc("relu", {{"X", {"x"}}}, {{"Out", {"x"}}}));
  block_.rename_var("x", "y");
  EXPECT_EQ(block_.find_var("x"), nullptr);
  EXPECT_EQ(block_.find_var("y")->shape(), Shape{3});
  EXPECT_EQ(to_string(*block_.ops()[0]), "relu(X=y) -> Out=y");
}

TEST_F(BlockDescTest, RefusesToRenameToATakenName) {
  block_.var("x");
  block_.var("y");
  EXPECT_THAT([&] { block_.rename_var("x", "y"); },
              ThrowsMessage<InvalidArgument>("block 0: there is a variable 'y' already"));
  EXPECT_THAT([&] { block_.rename_var("z", "y"); },
              ThrowsMessage<NotFound>("block 0: no variable 'z'"));
}

TEST_F(BlockDescTest, CountsEveryChange) {
  std::uint64_t last = *revision_;
  const auto expect_grown = [&](const char* change) {
    EXPECT_GT(*revision_, last) << change;
    last = *revision_;
  };
  block_.var("x");
  expect_grown("var");
  block_.append_op();
  expect_grown("append_op");
  block_.rename_var("x", "y");
  expect_grown("rename_var");
  block_.set_forward_block_idx(0);
  expect_grown("set_forward_block_idx");
  block_.remove_op(0, 1);
  expect_grown("remove_op");
  block_.remove_vars({"y"});
  expect_grown("remove_vars");
}

}  // namespace
}  // namespace fluidcore
