#include "fluidcore/runtime/passes/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

Step step(const std::string& x, const std::string& out) {
  Step step{.op = OpDesc("op", {{"X", {x}}}, {{"Out", {out}}})};
  if (out == "weight") step.lasting = {out};
  return step;
}

std::vector<std::string> show(const Steps& steps) {
  std::vector<std::string> texts;
  for (const Step& step : steps) texts.push_back(to_string(step.op));
  return texts;
}

TEST(Prune, KeepsWhatTheFetchesNeed) {
  EXPECT_THAT(show(prune({step("a", "b"), step("a", "c"), step("b", "d")}, {"d"})),
              testing::ElementsAre("op(X=a) -> Out=b", "op(X=b) -> Out=d"));
}

TEST(Prune, KeepsWhatWritesAPersistableVariable) {
  EXPECT_THAT(show(prune({step("a", "b"), step("b", "weight")}, {})),
              testing::ElementsAre("op(X=a) -> Out=b", "op(X=b) -> Out=weight"));
}

TEST(Prune, DropsAValueThatIsOverwrittenBeforeItIsRead) {
  EXPECT_THAT(show(prune({step("a", "b"), step("c", "b")}, {"b"})),
              testing::ElementsAre("op(X=c) -> Out=b"));
}

TEST(Prune, KeepsBothWritersWhereTheSecondReadsTheFirst) {
  EXPECT_THAT(prune({step("a", "b"), step("b", "b")}, {"b"}), testing::SizeIs(2));
}

TEST(Prune, DescribesAStepByItsPlaceAndTheUsersLine) {
  Step described = step("a", "b");
  described.op.set_call_site("train.py:41");
  EXPECT_EQ(describe(described), "operator 0 of block 0 (op), added at train.py:41");
}

}  // namespace
}  // namespace fluidcore
