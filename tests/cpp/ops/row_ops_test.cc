#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "fluidcore/op/grad_context.h"
#include "fluidcore/ops/register_ops.h"
#include "ops/op_runner.h"
#include "ops/program_runner.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::vector<std::string> grads(const OpDesc& op, const std::set<std::string>& no_grad = {}) {
  GradContext context(op, no_grad);
  std::vector<std::string> texts;
  for (const OpDesc& grad : builtin_ops().grad_ops(context)) texts.push_back(to_string(grad));
  return texts;
}

class RowOpsTest : public ::testing::Test {
 protected:
  explicit RowOpsTest() { runner_.feed("x", tensor_of({3, 2}, {1, 2, 3, 4, 5, 6})); }

  void split(const std::vector<bool>& mask) {
    runner_.feed_bool("mask", mask);
    runner_.add(OpDesc("split_lod_tensor", {{"X", {"x"}}, {"Mask", {"mask"}}},
                       {{"OutTrue", {"yes"}}, {"OutFalse", {"no"}}}));
  }
  void merge() {
    runner_.add(OpDesc("merge_lod_tensor",
                       {{"X", {"x"}}, {"Mask", {"mask"}}, {"InTrue", {"yes"}}, {"InFalse", {"no"}}},
                       {{"Out", {"out"}}}));
  }

  ProgramRunner runner_;
};

TEST_F(RowOpsTest, PutTheRowsInTwoGroups) {
  split({true, false, true});
  EXPECT_THAT(runner_.values("yes"), ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(runner_.values("no"), ElementsAre(3, 4));
  EXPECT_EQ(runner_.program().block(0).find_var("yes")->shape(), (Shape{-1, 2}));
}

TEST_F(RowOpsTest, MayPutAllRowsInOneGroup) {
  split({false, false, false});
  merge();
  EXPECT_EQ(runner_.run({"yes"})[0].shape(), (Shape{0, 2}));
  EXPECT_THAT(runner_.values("no"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(runner_.values("out"), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(RowOpsTest, PutTheRowsTogetherAgain) {
  split({true, false, true});
  runner_.add(OpDesc("scale", {{"X", {"no"}}}, {{"Out", {"no"}}}, {{"scale", 10.0}}));
  merge();
  EXPECT_THAT(runner_.values("out"), ElementsAre(1, 2, 30, 40, 5, 6));
}

TEST_F(RowOpsTest, RefuseGroupsThatDoNotFitTheMask) {
  runner_.feed("yes", tensor_of({1, 2}, {1, 2}));
  runner_.feed("no", tensor_of({2, 2}, {1, 2, 3, 4}));
  runner_.feed_bool("mask", {true, true, false});
  merge();
  EXPECT_THAT([&] { runner_.values("out"); },
              ThrowsMessage<InvalidArgument>("merge_lod_tensor: InTrue must have a row for each "
                                             "True element of Mask, got 1 rows, 2 elements"));
}

TEST_F(RowOpsTest, RefuseGroupsThatAreTooLargeTogether) {
  runner_.feed("yes", tensor_of({2, 2}, {1, 2, 3, 4}));
  runner_.feed("no", tensor_of({2, 2}, {1, 2, 3, 4}));
  runner_.feed_bool("mask", {true, true, false});
  EXPECT_THAT([&] { merge(); },
              ThrowsMessage<InvalidArgument>(
                  "merge_lod_tensor: InTrue and InFalse must have shapes with 3 rows together, one "
                  "for each element of Mask, got float64 [2, 2] and float64 [2, 2]"));
}

TEST_F(RowOpsTest, RefuseWhatIsNoMask) {
  EXPECT_THAT([&] { split({true, false}); },
              ThrowsMessage<InvalidArgument>("split_lod_tensor: Mask must have an element for each "
                                             "row of X, got Mask bool [2], X float64 [3, 2]"));
  EXPECT_THAT(
      [&] {
        runner_.add(OpDesc("split_lod_tensor", {{"X", {"x"}}, {"Mask", {"x"}}},
                           {{"OutTrue", {"yes"}}, {"OutFalse", {"no"}}}));
      },
      ThrowsMessage<InvalidArgument>(
          "split_lod_tensor: Mask must be bool, got float64; write cast(mask, 'bool')"));
}

TEST_F(RowOpsTest, GiveEachGroupItsGradient) {
  split({true, false, true});
  runner_.feed("d", tensor_of({3, 2}, {1, 2, 3, 4, 5, 6}));
  runner_.add(
      OpDesc("merge_lod_tensor_grad",
             {{"Mask", {"mask"}}, {"InTrue", {"yes"}}, {"InFalse", {"no"}}, {"Out@GRAD", {"d"}}},
             {{"InTrue@GRAD", {"dyes"}}, {"InFalse@GRAD", {"dno"}}}));
  runner_.add(OpDesc("split_lod_tensor_grad", {{"Mask", {"mask"}}, {"OutFalse@GRAD", {"dno"}}},
                     {{"X@GRAD", {"dx"}}}));
  EXPECT_THAT(runner_.values("dyes"), ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(runner_.values("dno"), ElementsAre(3, 4));
  EXPECT_THAT(runner_.values("dx"), ElementsAre(0, 0, 3, 4, 0, 0));
}

TEST_F(RowOpsTest, RefuseToGiveAnAbsentGroupItsGradient) {
  split({true, false, true});
  runner_.feed("d", tensor_of({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(
      [&] {
        runner_.add(OpDesc("merge_lod_tensor_grad",
                           {{"Mask", {"mask"}},
                            {"InTrue", {std::string(kEmptyName)}},
                            {"InFalse", {"no"}},
                            {"Out@GRAD", {"d"}}},
                           {{"InTrue@GRAD", {"dyes"}}, {"InFalse@GRAD", {"dno"}}}));
      },
      ThrowsMessage<InvalidArgument>("merge_lod_tensor_grad: InTrue must be given where its "
                                     "gradient is wanted, got nothing"));
}

TEST(RowOps, AreEachOthersGradients) {
  EXPECT_THAT(grads(OpDesc("split_lod_tensor", {{"X", {"x"}}, {"Mask", {"m"}}},
                           {{"OutTrue", {"t"}}, {"OutFalse", {"f"}}})),
              ElementsAre("split_lod_tensor_grad(Mask=m, OutFalse@GRAD=f@GRAD, "
                          "OutTrue@GRAD=t@GRAD) -> X@GRAD=x@GRAD"));
  EXPECT_THAT(
      grads(OpDesc("merge_lod_tensor_grad",
                   {{"Mask", {"m"}}, {"InTrue", {"t"}}, {"InFalse", {"f"}}, {"Out@GRAD", {"d"}}},
                   {{"InTrue@GRAD", {"dt"}}, {"InFalse@GRAD", {std::string(kEmptyName)}}})),
      ElementsAre("split_lod_tensor_grad(Mask=m, OutTrue@GRAD=dt@GRAD) -> X@GRAD=d@GRAD"));
  EXPECT_THAT(grads(OpDesc("split_lod_tensor_grad", {{"Mask", {"m"}}, {"OutTrue@GRAD", {"d"}}},
                           {{"X@GRAD", {"dx"}}})),
              ElementsAre("split_lod_tensor(Mask=m, X=dx@GRAD) -> OutFalse=@EMPTY@, "
                          "OutTrue=d@GRAD"));
  EXPECT_THAT(grads(OpDesc("split_lod_tensor", {{"X", {"x"}}, {"Mask", {"m"}}},
                           {{"OutTrue", {"t"}}, {"OutFalse", {"f"}}}),
                    {"x"}),
              IsEmpty());
}

}  // namespace
}  // namespace fluidcore
