#include "fluidcore/runtime/passes/rows_after.h"

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using testing::ElementsAre;

class RowsAfterTest : public testing::Test {
 protected:
  const Cell* variable() { return &cells_.emplace_back(Cell{{{100}, DType::kFloat32}}); }
  static RowKernel rows(const Cell* out, const Cell* in) {
    return RowKernel(RowPart{{out, 100}, {{in, 100}}, [](auto...) {}});
  }
  void add(const std::string& type, const Cell* out, Kernel kernel) {
    PreparedStep step;
    step.kernel = std::move(kernel);
    step.type = type;
    step.note = type + " of train.py";
    step.outputs = {{type, out}};
    steps_.push_back(std::move(step));
  }
  // A step that takes the rows that read `out`.
  void add_taking(const Cell* out) {
    const Kernel::RowsAfter take = [out](const RowKernel& rows) {
      return rows.parts()[0].in[0].cell == out ? Kernel([] {}) : Kernel();
    };
    add("mul", out, Kernel(std::function<void()>([] {}), take));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const PreparedStep& step : steps_) {
      names.push_back(step.name.empty() ? step.type : step.name);
    }
    return names;
  }

  std::deque<Cell> cells_;
  std::vector<PreparedStep> steps_;
};

TEST_F(RowsAfterTest, PutsAStepTogetherWithTheRowsThatReadItsResults) {
  const Cell* a = variable();
  const Cell* b = variable();
  add("transpose", a, [] {});
  add_taking(a);
  add("relu", b, rows(b, a));
  add("sum", a, [] {});
  const Fused fused = rows_after(steps_);
  EXPECT_THAT(names(), ElementsAre("transpose", "mul + relu", "sum"));
  EXPECT_EQ(steps_[1].note, "mul of train.py");
  EXPECT_EQ(steps_[1].count, 2U);
  ASSERT_EQ(steps_[1].outputs.size(), 2U);
  EXPECT_EQ(steps_[1].outputs[0].cell, a);
  EXPECT_EQ(steps_[1].outputs[1].cell, b);
  EXPECT_THAT(fused.begins, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(fused.position, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(fused.inner, ElementsAre());
}

TEST_F(RowsAfterTest, LeavesRowsThatTheKernelDoesNotTake) {
  const Cell* a = variable();
  const Cell* b = variable();
  add_taking(a);
  add("relu", b, rows(b, b));
  rows_after(steps_);
  EXPECT_THAT(names(), ElementsAre("mul", "relu"));
}

TEST_F(RowsAfterTest, LeavesRowsThatNeedSomethingBeforeThem) {
  const Cell* a = variable();
  const Cell* b = variable();
  add_taking(a);
  add("norm", b, Kernel([] {}, rows(b, a)));
  rows_after(steps_);
  EXPECT_THAT(names(), ElementsAre("mul", "norm"));
}

TEST_F(RowsAfterTest, LeavesWhatHasNoRows) {
  const Cell* a = variable();
  add_taking(a);
  add("sum", a, [] {});
  add_taking(a);
  rows_after(steps_);
  EXPECT_THAT(names(), ElementsAre("mul", "sum", "mul"));
}

}  // namespace
}  // namespace fluidcore
