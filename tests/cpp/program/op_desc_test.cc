#include "fluidcore/program/op_desc.h"

#include <cstdint>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

OpDesc mul() {
  return OpDesc("mul", {{"X", {"img"}}, {"Y", {"fc_0.w_0"}}}, {{"Out", {"fc_0.tmp_0"}}},
                {{"x_num_col_dims", std::int64_t{1}}, {"y_num_col_dims", std::int64_t{1}}});
}

TEST(OpDesc, PrintsAsOneLine) {
  EXPECT_EQ(to_string(mul()),
            "mul(X=img, Y=fc_0.w_0) -> Out=fc_0.tmp_0   # x_num_col_dims=1, y_num_col_dims=1");
  EXPECT_EQ(to_string(OpDesc("sum", {{"X", {"a", "b"}}, {"Y", {}}}, {{"Out", {"c"}}})),
            "sum(X=[a, b]) -> Out=c");
  EXPECT_EQ(to_string(OpDesc("fill", {}, {{"Out", {"c"}}})), "fill() -> Out=c");
}

TEST(OpDesc, HasAnEmptyListForASlotThatIsNotThere) {
  EXPECT_THAT(mul().input("Z"), IsEmpty());
  EXPECT_THAT(mul().output("X"), IsEmpty());
}

TEST(OpDesc, ListsTheVariablesOfAllSlotsWithoutEmptyNames) {
  const OpDesc op("mul_grad", {{"X", {"x"}}, {"Y", {"w", "x"}}},
                  {{"X@GRAD", {std::string(kEmptyName)}}, {"Y@GRAD", {"w@GRAD"}}});
  EXPECT_THAT(op.input_arg_names(), ElementsAre("x", "w", "x"));
  EXPECT_THAT(op.output_arg_names(), ElementsAre("w@GRAD"));
}

TEST(OpDesc, RenamesInputsAndOutputsSeparately) {
  OpDesc op("add", {{"X", {"a", "b"}}, {"Y", {"a"}}}, {{"Out", {"a"}}});
  op.rename_input("a", "c");
  EXPECT_THAT(op.input_arg_names(), ElementsAre("c", "b", "c"));
  EXPECT_THAT(op.output("Out"), ElementsAre("a"));
  op.rename_output("a", "d");
  EXPECT_THAT(op.output("Out"), ElementsAre("d"));
}

TEST(OpDesc, ReplacesSlotsAndAttributes) {
  OpDesc op = mul();
  op.set_type("matmul");
  op.set_input("X", {"a", "b"});
  op.set_output("Mask", {"m"});
  op.set_attr("axis", 0.5);
  EXPECT_EQ(op.type(), "matmul");
  EXPECT_THAT(op.input("X"), ElementsAre("a", "b"));
  EXPECT_THAT(op.output("Mask"), ElementsAre("m"));
  EXPECT_EQ(op.attr("axis"), Attribute(0.5));
  op.set_attrs({});
  EXPECT_FALSE(op.has_attr("axis"));
}

TEST(OpDesc, ListsItsAttributesWhenOneIsMissing) {
  EXPECT_THAT(
      [] { mul().attr("axis"); },
      ThrowsMessage<NotFound>("mul: no attribute 'axis'; it has: x_num_col_dims, y_num_col_dims"));
}

TEST(OpDesc, CountsEveryChangeInTheRevisionItIsLinkedTo) {
  const auto revision = std::make_shared<std::uint64_t>(0);
  OpDesc op = mul();
  op.link(revision);
  op.set_type("a");
  op.set_input("X", {});
  op.set_output("Out", {});
  op.set_attr("b", true);
  op.set_attrs({});
  op.rename_input("a", "b");
  op.rename_output("a", "b");
  op = mul();
  EXPECT_EQ(*revision, 8u);
}

TEST(OpDesc, LeavesTheRevisionAloneInACopy) {
  const auto revision = std::make_shared<std::uint64_t>(0);
  OpDesc op = mul();
  op.link(revision);
  OpDesc copy = op;
  copy.set_type("a");
  EXPECT_EQ(*revision, 0u);
}

TEST(GradName, AppendsTheSuffix) {
  EXPECT_EQ(grad_name("x"), "x@GRAD");
}

}  // namespace
}  // namespace fluidcore
