#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/plan.h"
#include "fluidcore/runtime/scope.h"
#include "fluidcore/tensor/selected_rows.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

std::vector<std::int64_t> numbers_of(const Tensor& tensor) {
  const std::int64_t* numbers = row_numbers(tensor.spec(), tensor.raw());
  return {numbers, numbers + *tensor.spec().rows};
}

// The gradient of a table [4, 2] of which the rows 3, 0, 3 were read, as selected rows.
class SelectedRowsOpsTest : public ::testing::Test {
 protected:
  SelectedRowsOpsTest() {
    runner_.feed("w", tensor_of({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
    add_rows("rows", {3, 0, 3}, {1, 2, 3, 4, 5, 6});
  }
  void add_rows(const std::string& name,
                const std::vector<double>& ids,
                const std::vector<double>& values,
                std::int64_t padding = -1) {
    const auto count = static_cast<std::int64_t>(ids.size());
    runner_.feed(name + "_ids", tensor_of({count}, ids, DType::kInt64));
    runner_.feed(name + "_values", tensor_of({count, 2}, values));
    runner_.add(OpDesc("lookup_table_v2_grad",
                       {{"W", {"w"}}, {"Ids", {name + "_ids"}}, {"Out@GRAD", {name + "_values"}}},
                       {{"W@GRAD", {name}}}, {{"is_sparse", true}, {"padding_idx", padding}}));
  }
  Tensor run(const std::string& name) { return runner_.run({name})[0]; }

  ProgramRunner runner_;
};

TEST_F(SelectedRowsOpsTest, ALookupGivesTheRowsThatItRead) {
  const Tensor rows = run("rows");
  EXPECT_EQ(rows.spec(), (TensorSpec{{4, 2}, DType::kFloat64, 3}));
  EXPECT_THAT(numbers_of(rows), ElementsAre(3, 0, 3));
  EXPECT_THAT(values_of(rows), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(SelectedRowsOpsTest, ALookupLeavesTheRowThatPadsOut) {
  add_rows("padded", {3, 0, 3}, {1, 2, 3, 4, 5, 6}, 3);
  EXPECT_THAT(numbers_of(run("padded")), ElementsAre(-1, 0, -1));
  EXPECT_THAT(values_of(run("padded")), ElementsAre(0, 0, 3, 4, 0, 0));
}

TEST_F(SelectedRowsOpsTest, AreMergedWithUnusedRowsAtTheEnd) {
  runner_.add("merge_selected_rows", "rows", "merged");
  EXPECT_THAT(numbers_of(run("merged")), ElementsAre(0, 3, -1));
  EXPECT_THAT(values_of(run("merged")), ElementsAre(3, 4, 6, 8, 0, 0));
}

TEST_F(SelectedRowsOpsTest, AreMergedOverThemselves) {
  runner_.add("merge_selected_rows", "rows", "rows");
  EXPECT_THAT(numbers_of(run("rows")), ElementsAre(0, 3, -1));
  EXPECT_THAT(values_of(run("rows")), ElementsAre(3, 4, 6, 8, 0, 0));
}

TEST_F(SelectedRowsOpsTest, BecomeTheTensorThatTheyStandFor) {
  runner_.add("selected_rows_to_dense", "rows", "dense");
  EXPECT_THAT(runner_.values("dense"), ElementsAre(3, 4, 0, 0, 0, 0, 6, 8));
}

TEST_F(SelectedRowsOpsTest, GiveTheirValuesAsATensor) {
  runner_.add("get_tensor_from_selected_rows", "rows", "values");
  EXPECT_EQ(run("values").spec(), (TensorSpec{{3, 2}, DType::kFloat64}));
  EXPECT_THAT(runner_.values("values"), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(SelectedRowsOpsTest, SayWhichRowsOfATableAreRead) {
  runner_.add("merge_selected_rows", "rows", "merged");
  runner_.add(
      OpDesc("lookup_selected_rows", {{"W", {"w"}}, {"Rows", {"merged"}}}, {{"Out", {"read"}}}));
  EXPECT_THAT(runner_.values("read"), ElementsAre(1, 2, 7, 8, 0, 0));
}

TEST_F(SelectedRowsOpsTest, TakeOtherValuesWhereARowIsUsed) {
  runner_.add("merge_selected_rows", "rows", "merged");
  runner_.add(OpDesc("pack_selected_rows", {{"Rows", {"merged"}}, {"Values", {"rows_values"}}},
                     {{"Out", {"packed"}}}));
  EXPECT_THAT(numbers_of(run("packed")), ElementsAre(0, 3, -1));
  EXPECT_THAT(values_of(run("packed")), ElementsAre(1, 2, 3, 4, 0, 0));
}

TEST_F(SelectedRowsOpsTest, AreOneAfterTheOtherInTheirSum) {
  add_rows("others", {1, 3}, {7, 8, 9, 10});
  runner_.add(OpDesc("sum", {{"X", {"rows", "others"}}}, {{"Out", {"sum"}}}));
  EXPECT_THAT(numbers_of(run("sum")), ElementsAre(3, 0, 3, 1, 3));
  EXPECT_THAT(values_of(run("sum")), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

TEST_F(SelectedRowsOpsTest, AreAddedToATensorInASum) {
  runner_.add(OpDesc("sum", {{"X", {"rows", "w", "rows"}}}, {{"Out", {"sum"}}}));
  EXPECT_EQ(run("sum").spec(), (TensorSpec{{4, 2}, DType::kFloat64}));
  EXPECT_THAT(runner_.values("sum"), ElementsAre(7, 10, 3, 4, 5, 6, 19, 24));
}

TEST_F(SelectedRowsOpsTest, OfAnArrayAreJoinedWithRoomForMore) {
  runner_.array("array");
  const OpDesc push("push_selected_rows", {{"X", {"rows"}}, {"Array", {"array"}}},
                    {{"ArrayOut", {"array"}}});
  for (int i = 0; i < 2; ++i) runner_.add(push);
  runner_.add("join_selected_rows", "array", "joined");
  runner_.add("lod_array_length", "array", "length");
  EXPECT_THAT(runner_.values("length"), ElementsAre(2));
  EXPECT_EQ(run("joined").spec(), (TensorSpec{{4, 2}, DType::kFloat64, 8}));
  EXPECT_THAT(numbers_of(run("joined")), ElementsAre(3, 0, 3, 3, 0, 3, -1, -1));
  EXPECT_THAT(values_of(run("joined")),
              ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0));
}

// A loop pushes as often as `count` says.
TEST_F(SelectedRowsOpsTest, ThePlanOfAJoinServesFewerRows) {
  runner_.array("array");
  const std::int64_t body = runner_.new_block();
  runner_.feed_int("i", 0);
  runner_.feed_int("count", 1);
  runner_.feed_bool("goes_on", {true});
  runner_.add(OpDesc("push_selected_rows", {{"X", {"rows"}}, {"Array", {"array"}}},
                     {{"ArrayOut", {"array"}}}),
              body);
  runner_.increment("i", body);
  runner_.add("less_than", "i", "count", "goes_on", body);
  runner_.add(OpDesc("while", {{"Condition", {"goes_on"}}}, {}, {{"sub_block", BlockIndex{body}}}));
  runner_.add("join_selected_rows", "array", "joined");
  Executor executor(builtin_ops());
  const auto room_for = [&](std::int64_t count) {
    NamedTensors feeds = runner_.feeds();
    for (auto& [name, tensor] : feeds) {
      if (name == "count") tensor = tensor_of({1}, {static_cast<double>(count)}, DType::kInt64);
    }
    const auto results = executor.run(runner_.program(), feeds, {"joined"}, Scope::create(), {});
    const auto numbers = numbers_of(results[0]);
    EXPECT_EQ(std::ranges::count_if(numbers, [](auto number) { return number >= 0; }), 3 * count);
    return std::ssize(numbers);
  };
  EXPECT_EQ(room_for(6), 32);  // for 18
  EXPECT_EQ(room_for(10), 32);
  EXPECT_EQ(room_for(2), 32);  // for 6, a fourth is in use,
  EXPECT_EQ(room_for(1), 4);   // and now would be less
}

TEST_F(SelectedRowsOpsTest, OnlyAreJoined) {
  runner_.array("array");
  runner_.add(
      OpDesc("push_to_array", {{"X", {"w"}}, {"Array", {"array"}}}, {{"ArrayOut", {"array"}}}));
  runner_.add("join_selected_rows", "array", "joined");
  EXPECT_THAT([&] { run("joined"); },
              ThrowsMessage<InvalidArgument>("join_selected_rows: the elements of X must be "
                                             "selected rows, got float64 [4, 2]"));
}

TEST_F(SelectedRowsOpsTest, MayBeNone) {
  add_rows("none", {}, {});
  runner_.add("merge_selected_rows", "none", "merged");
  runner_.add("selected_rows_to_dense", "merged", "dense");
  EXPECT_THAT(runner_.values("dense"), Each(0));
  runner_.add(OpDesc("sum", {{"X", {"none", "w"}}}, {{"Out", {"sum"}}}));
  EXPECT_THAT(runner_.values("sum"), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(SelectedRowsOpsTest, AreRefusedWhereATensorIsNeeded) {
  EXPECT_THAT([&] { runner_.add("relu", "rows", "out"); },
              ThrowsMessage<InvalidArgument>(
                  "relu: X must be a tensor, got the selected rows 'rows'; make a tensor of them "
                  "with selected_rows_to_dense"));
}

TEST_F(SelectedRowsOpsTest, AreAskedForWhereATensorIsGiven) {
  EXPECT_THAT([&] { runner_.add("merge_selected_rows", "w", "out"); },
              ThrowsMessage<InvalidArgument>(
                  "merge_selected_rows: X must be selected rows, got the tensor 'w'; the gradient "
                  "of a table that lookup_table reads with is_sparse is selected rows"));
}

TEST_F(SelectedRowsOpsTest, AreNotWhatAVariableThatLivesInTheScopeAsATensorHolds) {
  const auto var = runner_.program().block(0).var("kept");
  var->set_shape({4, 2});
  var->set_dtype(DType::kFloat64);
  var->set_persistable(true);
  EXPECT_THAT([&] { runner_.add("merge_selected_rows", "rows", "kept"); },
              ThrowsMessage<InvalidArgument>(
                  "merge_selected_rows: Out must fit the variable 'kept', declared as float64 "
                  "[4, 2], got float64 [4, 2] selected rows"));
}

TEST_F(SelectedRowsOpsTest, AnUpdateMayWriteElsewhere) {
  runner_.feed("rate", tensor_of({1}, {1}));
  runner_.add(OpDesc("sgd", {{"Param", {"w"}}, {"Grad", {"rows"}}, {"LearningRate", {"rate"}}},
                     {{"ParamOut", {"updated"}}}));
  EXPECT_THAT(runner_.values("updated"), ElementsAre(-2, -2, 3, 4, 5, 6, 1, 0));
  EXPECT_THAT(runner_.values("w"), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

// A table that is larger than all that a run would rather do again than look at.
TEST(SelectedRows, AnUpdateOfFewRowsOfALargeTableSavesAndCopiesNothingOfIt) {
  constexpr std::int64_t kHeight = 1 << 20;
  const TensorSpec spec{{kHeight, 32}, DType::kFloat32};
  const auto scope = Scope::create();
  ProgramRunner runner;
  for (const char* name : {"w", "velocity"}) {
    const auto var = runner.program().block(0).var(name);
    var->set_shape(spec.shape);
    var->set_dtype(spec.dtype);
    var->set_persistable(true);
    scope->var(name)->tensor() = Tensor(spec);
  }
  runner.feed("ids", tensor_of({2}, {5, kHeight - 1}, DType::kInt64));
  runner.feed("rate", tensor_of({1}, {1}, DType::kFloat32));
  runner.add(OpDesc("lookup_table_v2", {{"W", {"w"}}, {"Ids", {"ids"}}}, {{"Out", {"read"}}}));
  runner.add(OpDesc("lookup_table_v2_grad",
                    {{"W", {"w"}}, {"Ids", {"ids"}}, {"Out@GRAD", {"read"}}},
                    {{"W@GRAD", {"rows"}}}, {{"is_sparse", true}}));
  runner.add(OpDesc("momentum",
                    {{"Param", {"w"}},
                     {"Grad", {"rows"}},
                     {"Velocity", {"velocity"}},
                     {"LearningRate", {"rate"}}},
                    {{"ParamOut", {"w"}}, {"VelocityOut", {"velocity"}}}, {{"mu", 0.5}}));
  PlanRequest request;
  for (const auto& [name, tensor] : runner.feeds()) request.feeds.emplace_back(name, tensor.spec());
  const Plan plan(builtin_ops(), runner.program(), request, *scope);
  EXPECT_EQ(plan.backup_bytes(), 0u);
  EXPECT_LE(plan.arena_bytes(), 2u * (2 * 32 * 4 + 2 * 8 + 64));
}

}  // namespace
}  // namespace fluidcore
