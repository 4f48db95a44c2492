#include "fluidcore/runtime/passes/fuse_rows.h"

#include <cstdint>
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

class FuseRowsTest : public PassTest {
 protected:
  const Cell* variable(std::int64_t size = 50'000) { return add_variable({size}, false); }
  // A map of elements that calculates nothing.
  static RowPart map(const Cell* out, const std::vector<const Cell*>& in) {
    const auto by_element = [](const Cell* cell) {
      return RowOperand{cell, cell->spec.shape.num_elements()};
    };
    RowPart part{by_element(out), {}, [](auto...) {}};
    for (const Cell* cell : in) part.in.push_back(by_element(cell));
    return part;
  }
  void add(const std::string& type, const Cell* out, const std::vector<const Cell*>& in) {
    add(type, RowKernel(map(out, in)));
  }
  void add(const std::string& type, Kernel kernel) { add_step(type, std::move(kernel)); }
  Fused fuse() { return fuse_rows(steps_, lives_within()); }
};

TEST_F(FuseRowsTest, MakesOneOfNeighbours) {
  const Cell* x = variable();
  const Cell* y = variable();
  add("add", y, {x});
  add("relu", x, {y});
  add("mul", [] {});
  add("scale", y, {x});
  const Fused fused = fuse();
  EXPECT_THAT(names(), ElementsAre("add + relu", "mul", "scale"));
  EXPECT_THAT(fused.position, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(fused.inner, ElementsAre());
}

TEST_F(FuseRowsTest, NamesTheFirstInMessages) {
  const Cell* x = variable();
  add("add", x, {x});
  add("relu", x, {x});
  fuse();
  EXPECT_EQ(steps_[0].type, "add");
  EXPECT_EQ(steps_[0].note, "add of train.py");
}

TEST_F(FuseRowsTest, CountsWhatIsReadFromMemoryAndWrittenThere) {
  const Cell* x = variable();
  const Cell* inner = variable();
  const Cell* out = variable();
  temporaries_ = {inner};
  add("add", inner, {x});
  add("relu", out, {inner});
  EXPECT_THAT(fuse().inner, UnorderedElementsAre(inner));
  EXPECT_EQ(steps_[0].work, 2 * 50'000 * 4);
}

TEST_F(FuseRowsTest, AddsUpTheArithmetic) {
  const Cell* x = variable();
  add("conv2d", x, {x});
  add("relu", x, {x});
  add("fc", x, {x});
  steps_[0].flops = 100;
  steps_[2].flops = 20;
  fuse();
  EXPECT_EQ(steps_[0].flops, 120);
}

TEST_F(FuseRowsTest, ShortensALongName) {
  const Cell* x = variable();
  for (int i = 0; i < 100; ++i) add("scale", x, {x});
  fuse();
  EXPECT_THAT(names(), ElementsAre("scale + scale + scale + scale + 96 more"));
}

TEST_F(FuseRowsTest, EndsAStepThatHasManyParts) {
  const Cell* x = variable();
  for (int i = 0; i < 300; ++i) add("scale", x, {x});
  fuse();
  EXPECT_THAT(names(), ElementsAre("scale + scale + scale + scale + 252 more",
                                   "scale + scale + scale + scale + 40 more"));
}

TEST_F(FuseRowsTest, LeavesOtherSizesApart) {
  const Cell* x = variable(50'000);
  const Cell* y = variable(49'999);
  add("add", x, {x});
  add("relu", x, {x});
  add("add", y, {y});
  add("relu", y, {y});
  EXPECT_THAT(fuse().position, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(names(), ElementsAre("add + relu", "add + relu"));
}

TEST_F(FuseRowsTest, BeginsWithTheRowsThatEndAStep) {
  const Cell* x = variable();
  const Cell* y = variable();
  const Cell* z = variable();
  temporaries_ = {y};
  add("mul", [] {});
  add("norm", Kernel([] {}, RowKernel(map(y, {x}))));
  add("relu", z, {y});
  add("mul", [] {});
  const Fused fused = fuse();
  EXPECT_THAT(names(), ElementsAre("mul", "norm", "norm + relu", "mul"));
  EXPECT_THAT(fused.begins, ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(fused.position, ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(fused.inner, UnorderedElementsAre(y));
}

TEST_F(FuseRowsTest, LeavesAStepThatEndsWithRowsWholeWhereNothingFollows) {
  const Cell* x = variable();
  add("relu", x, {x});
  add("norm", Kernel([] {}, RowKernel(map(x, {x}))));
  add("mul", [] {});
  EXPECT_THAT(fuse().position, ElementsAre(0, 1, 2));
  EXPECT_THAT(names(), ElementsAre("relu", "norm", "mul"));
}

TEST_F(FuseRowsTest, TakesAViewForTheVariableWhoseMemoryItHas) {
  const Cell* x = variable();
  const Cell* y = variable();
  const Cell* z = variable();
  Cell& view = cells_.emplace_back(Cell{{{50'000}, DType::kFloat32}});
  view.viewed = y;
  temporaries_ = {y};
  add("scale", y, {x});
  add("relu", z, {&view});
  EXPECT_THAT(fuse().inner, UnorderedElementsAre(y));
}

TEST_F(FuseRowsTest, WaitsForAllOfAVariableBeforeAPartOfIt) {
  const Cell* y = variable();
  const Cell* z = &cells_.emplace_back(Cell{{{50'000 / 2}, DType::kFloat32}});
  Cell& part = cells_.emplace_back(Cell{z->spec});
  part.viewed = y;
  part.offset = part.spec.shape.num_elements() * sizeof(float);
  temporaries_ = {y};
  add("scale", y, {variable()});
  add("relu", z, {&part});
  EXPECT_THAT(fuse().inner, UnorderedElementsAre());
  EXPECT_THAT(names(), ElementsAre("scale", "relu"));
}

TEST_F(FuseRowsTest, LeavesOutStepsThatDoNothing) {
  const Cell* x = variable();
  add("relu", x, {x});
  add("reshape", Kernel());
  add("mul", [] {});
  add("reshape", Kernel());
  const Fused dropped = drop_empty(steps_);
  EXPECT_THAT(names(), ElementsAre("relu", "mul"));
  EXPECT_THAT(dropped.begins, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(dropped.position, ElementsAre(0, 1, 1, 2));
}

TEST_F(FuseRowsTest, LeavesAnEmptyBlockAlone) {
  EXPECT_THAT(fuse().position, ElementsAre());
  EXPECT_THAT(names(), ElementsAre());
}

}  // namespace
}  // namespace fluidcore
