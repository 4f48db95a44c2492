#include "fluidcore/runtime/passes/epilogues.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/passes/pass_test.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class EpiloguesTest : public PassTest {
 protected:
  const Cell* variable(bool is_temporary = true) { return add_variable({100}, is_temporary); }
  static RowPart part(const Cell* out, const std::vector<const Cell*>& in, RowForm form) {
    RowPart part{{out, 100}, {}, [](auto...) {}};
    for (const Cell* cell : in) part.in.push_back({cell, 100});
    part.form = form;
    return part;
  }
  void add(const std::string& type, const Cell* out, Kernel kernel) {
    add_step(type, std::move(kernel), out);
  }
  void add(const std::string& type,
           const Cell* out,
           const std::vector<const Cell*>& in,
           RowForm form) {
    add(type, out, RowKernel(part(out, in, form)));
  }
  // A step that takes at most so many parts.
  void add_taking(std::size_t most, const Cell* out) {
    add("conv2d", out,
        Kernel([] {},
               [most](const std::vector<const RowPart*>& parts) {
                 const std::size_t count = std::min(most, parts.size());
                 return std::pair(count == 0 ? Kernel() : Kernel([] {}), count);
               }));
  }
  Fused run() { return epilogues(steps_, lives_within()); }
};

TEST_F(EpiloguesTest, LetsAStepDoWhatFollowsIt) {
  const Cell* a = variable();
  const Cell* b = variable();
  const Cell* c = variable(false);
  const Cell* d = variable();
  add_taking(9, a);
  add("add", b, {a, d}, RowForm::kSum);
  add("relu", c, {b}, RowForm::kRelu);
  add("mul", d, [] {});
  const Fused fused = run();
  EXPECT_THAT(names(), ElementsAre("conv2d + add + relu", "mul"));
  EXPECT_EQ(steps_[0].note, "conv2d of train.py");
  EXPECT_EQ(steps_[0].count, 3U);
  EXPECT_THAT(fused.begins, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(fused.position, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(fused.inner, UnorderedElementsAre(a, b));
}

TEST_F(EpiloguesTest, LeavesWhatTheKernelCannotDo) {
  const Cell* a = variable();
  const Cell* b = variable();
  const Cell* c = variable();
  add_taking(1, a);
  add("relu", b, {a}, RowForm::kRelu);
  add("tanh", c, {b}, RowForm::kOther);
  add_taking(0, a);
  add("tanh", b, {a}, RowForm::kOther);
  const Fused fused = run();
  EXPECT_THAT(names(), ElementsAre("conv2d + relu", "tanh", "conv2d", "tanh"));
  EXPECT_THAT(fused.inner, ElementsAre(a));
}

TEST_F(EpiloguesTest, LeavesWhatSomebodyElseReads) {
  const Cell* read = variable(false);
  const Cell* out = variable();
  add_taking(9, read);
  add("relu", out, {read}, RowForm::kRelu);
  EXPECT_THAT(run().inner, ElementsAre());
  EXPECT_THAT(names(), ElementsAre("conv2d", "relu"));
}

TEST_F(EpiloguesTest, TakesWhatIsOverwrittenInPlace) {
  const Cell* kept = variable(false);
  add_taking(9, kept);
  add("relu", kept, {kept}, RowForm::kRelu);
  EXPECT_THAT(run().inner, ElementsAre());
  EXPECT_THAT(names(), ElementsAre("conv2d + relu"));
}

TEST_F(EpiloguesTest, LeavesWhatWorksOnSomethingElse) {
  const Cell* a = variable();
  const Cell* b = variable();
  const Cell* c = variable();
  add_taking(9, a);
  add("relu", c, {b}, RowForm::kRelu);
  run();
  EXPECT_THAT(names(), ElementsAre("conv2d", "relu"));
}

TEST_F(EpiloguesTest, LeavesWhatTakesTheResultForAnotherOperand) {
  const Cell* a = variable();
  const Cell* b = variable();
  const Cell* c = variable();
  for (const RowForm form : {RowForm::kAffine, RowForm::kSum}) {
    add_taking(9, a);
    add("rows", c, {b, a}, form);
  }
  run();
  EXPECT_THAT(names(), ElementsAre("conv2d", "rows", "conv2d + rows"));
}

TEST_F(EpiloguesTest, TakesRowsThatNeedSomethingBeforeThemOnlyIfTheyHaveFactors) {
  const Cell* a = variable();
  const Cell* b = variable();
  for (const RowForm form : {RowForm::kOther, RowForm::kAffine}) {
    add_taking(9, a);
    add("norm", b, Kernel([] {}, RowKernel(part(b, {a}, form))));
  }
  run();
  EXPECT_THAT(names(), ElementsAre("conv2d", "norm", "conv2d + norm"));
}

}  // namespace
}  // namespace fluidcore
