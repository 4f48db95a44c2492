#include "fluidcore/runtime/passes/transposes.h"

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
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class TransposesTest : public PassTest {
 protected:
  const Cell* variable(bool is_temporary = true) { return add_variable({6, 4}, is_temporary); }
  // All elements of another one.
  const Cell* view(const Cell* of) {
    const Cell* cell = variable();
    cells_.back().viewed = of;
    return cell;
  }
  void add(const std::string& type, const Cell* out, Kernel kernel) {
    add_step(type, std::move(kernel), out);
  }
  void add(const std::string& type, const Cell* out) {
    add(type, out, Kernel([] {}));
  }
  void add_transpose(const Cell* from, const Cell* to) {
    add("transpose", to, Kernel([] {}, Permutation{from, to, {{6, 4, 1}, {4, 1, 6}}}));
  }
  // A step that strides over what it is asked to, at most so many.
  void add_striding(const std::vector<const Cell*>& reads, const Cell* out, std::size_t most = 9) {
    const auto with = [this, most](const std::vector<Permutation>& permutations) {
      if (permutations.size() > most) return Kernel();
      seen_ = permutations;
      return Kernel([] {});
    };
    add("attention", out, Kernel([] {}, Kernel::Strided{reads, out, with}));
  }
  Fused run() { return transposes(steps_, lives_within()); }

  std::vector<Permutation> seen_;
  const Cell* const x_ = variable(false);
  const Cell* const y_ = variable(false);
  const Cell* const turned_ = variable();
  const Cell* const result_ = variable();
};

TEST_F(TransposesTest, AStepReadsWhatWasTransposedForItAndPutsItsResultWhereItGoes) {
  add_transpose(x_, turned_);
  add_striding({turned_}, result_);
  add_transpose(result_, y_);
  const Fused fused = run();
  EXPECT_THAT(names(), ElementsAre("attention + transpose + transpose"));
  EXPECT_EQ(steps_[0].note, "attention of train.py");
  ASSERT_EQ(steps_[0].outputs.size(), 1U);
  EXPECT_EQ(steps_[0].outputs[0].cell, y_);
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[0].from, x_);
  EXPECT_EQ(seen_[1].to, y_);
  EXPECT_THAT(fused.begins, ElementsAre(0, 0, 0));
  EXPECT_THAT(fused.position, ElementsAre(0, 0, 0));
  EXPECT_THAT(fused.inner, UnorderedElementsAre(turned_, result_));
}

TEST_F(TransposesTest, WhatIsTransposedEarlierIsReadLater) {
  add_transpose(x_, turned_);
  add("mul", y_);
  add_striding({turned_, y_}, result_);
  const Fused fused = run();
  EXPECT_THAT(names(), ElementsAre("mul", "attention + transpose"));
  EXPECT_THAT(fused.begins, ElementsAre(0, 0, 1));
  EXPECT_THAT(fused.position, ElementsAre(1, 0, 1));  // so that x lives until it is read
  EXPECT_THAT(fused.inner, ElementsAre(turned_));
}

TEST_F(TransposesTest, PartsOfWhatIsTransposedAreReadByOneStep) {
  const Cell* const first = view(turned_);
  const Cell* const second = view(turned_);
  add_transpose(x_, turned_);
  add_striding({first, second}, result_);
  run();
  EXPECT_THAT(names(), ElementsAre("attention + transpose"));
  EXPECT_EQ(seen_.size(), 1U);
}

TEST_F(TransposesTest, WhatSomebodyElseReadsIsTransposed) {
  temporaries_.clear();
  add_transpose(x_, turned_);
  add_striding({turned_}, result_);
  add_transpose(result_, y_);
  EXPECT_THAT(run().inner, IsEmpty());
  EXPECT_THAT(names(), ElementsAre("transpose", "attention", "transpose"));
}

TEST_F(TransposesTest, WhatIsOverwrittenMeanwhileIsTransposedBefore) {
  for (const Cell* written : {x_, turned_}) {
    SCOPED_TRACE(written == x_ ? "the source" : "the result");
    steps_.clear();
    add_transpose(x_, turned_);
    add("relu", written);
    add_striding({turned_}, result_);
    EXPECT_THAT(run().inner, IsEmpty());
    EXPECT_THAT(names(), ElementsAre("transpose", "relu", "attention"));
  }
}

TEST_F(TransposesTest, NobodyKnowsWhatABlockOverwrites) {
  add_transpose(x_, turned_);
  add("while", y_);
  steps_.back().runs_block = true;
  add_striding({turned_}, result_);
  run();
  EXPECT_THAT(names(), ElementsAre("transpose", "while", "attention"));
}

TEST_F(TransposesTest, AResultIsNotPutWhereTheStepReads) {
  add_transpose(y_, turned_);
  add_striding({turned_}, result_);
  add_transpose(result_, y_);
  run();
  EXPECT_THAT(names(), ElementsAre("attention + transpose", "transpose"));
  steps_.clear();
  add_striding({y_}, result_);
  add_transpose(result_, y_);
  run();
  EXPECT_THAT(names(), ElementsAre("attention", "transpose"));
}

TEST_F(TransposesTest, AKernelThatCannotIsLeftAlone) {
  add_transpose(x_, turned_);
  add_striding({turned_}, result_, 0);
  add("mul", y_);
  const Fused fused = run();
  EXPECT_THAT(names(), ElementsAre("transpose", "attention", "mul"));
  EXPECT_THAT(fused.position, ElementsAre(0, 1, 2));
  EXPECT_THAT(fused.inner, IsEmpty());
}

TEST_F(TransposesTest, ATransposeIsDoneByOneOfTwoNeighbours) {
  const Cell* const last = variable();
  add_striding({x_}, result_);
  add_transpose(result_, turned_);
  add_striding({turned_}, last);
  const Fused fused = run();
  EXPECT_THAT(names(), ElementsAre("attention + transpose", "attention"));
  EXPECT_THAT(fused.begins, ElementsAre(0, 0, 1));
  EXPECT_THAT(fused.position, ElementsAre(0, 0, 1));
}

}  // namespace
}  // namespace fluidcore
