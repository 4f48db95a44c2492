#include "fluidcore/op/row_kernel.h"

#include <cstdint>
#include <deque>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/threads.h"

namespace fluidcore {
namespace {

using testing::Each;
using testing::ElementsAre;

float* at(const RowSlice& slice, std::int64_t i) {
  return static_cast<float*>(slice.data) + (i - slice.origin);
}

class RowKernelTest : public testing::Test {
 protected:
  struct Variable {
    Cell cell;
    std::vector<float> values;
  };

  // Has the elements start, start + 1, ...
  const Cell* variable(Shape shape, float start = 0) {
    Variable& made = variables_.emplace_back();
    made.values.resize(static_cast<std::size_t>(shape.num_elements()));
    std::iota(made.values.begin(), made.values.end(), start);
    made.cell = {{std::move(shape), DType::kFloat32}, made.values.data()};
    return &made.cell;
  }
  const std::vector<float>& values(const Cell* cell) const {
    for (const Variable& variable : variables_) {
      if (&variable.cell == cell) return variable.values;
    }
    throw Error("there is no such variable");
  }

  static RowOperand by_element(const Cell* cell) { return {cell, cell->spec.shape.num_elements()}; }
  // out = x + amount
  static RowPart shifted(const Cell* out, const Cell* x, float amount) {
    return {by_element(out),
            {by_element(x)},
            [=](std::int64_t begin, std::int64_t size, const RowSlice& to, const RowSlice* from) {
              for (std::int64_t i = begin; i < begin + size; ++i) {
                *at(to, i) = *at(from[0], i) + amount;
              }
            }};
  }
  // out[i] = the sum of row i of x.
  static RowPart summed(const Cell* out, const Cell* x) {
    const std::int64_t rows = out->spec.shape.num_elements();
    const std::int64_t row = x->spec.shape.num_elements() / rows;
    return {{out, rows},
            {{x, rows}},
            [=](std::int64_t begin, std::int64_t size, const RowSlice& to, const RowSlice* from) {
              for (std::int64_t i = begin; i < begin + size; ++i) {
                const float* first = at(from[0], i * row);
                *at(to, i) = std::accumulate(first, first + row, 0.0f);
              }
            }};
  }
  // out[i, j] = x[i, j] - y[i]
  static RowPart minus_of_row(const Cell* out, const Cell* x, const Cell* y) {
    const std::int64_t rows = y->spec.shape.num_elements();
    const std::int64_t row = x->spec.shape.num_elements() / rows;
    return {by_element(out),
            {by_element(x), {y, rows}},
            [=](std::int64_t begin, std::int64_t size, const RowSlice& to, const RowSlice* from) {
              for (std::int64_t i = begin; i < begin + size; ++i) {
                *at(to, i) = *at(from[0], i) - *at(from[1], i / row);
              }
            }};
  }
  // out[i] = the first element of x.
  static RowPart first_of_all(const Cell* out, const Cell* x) {
    return {by_element(out),
            {{x, 1}},
            [=](std::int64_t begin, std::int64_t size, const RowSlice& to, const RowSlice* from) {
              for (std::int64_t i = begin; i < begin + size; ++i) *at(to, i) = *at(from[0], 0);
            }};
  }

  static RowKernel together(std::vector<RowPart> parts, const std::set<const Cell*>& inner = {}) {
    CommonRows rows;
    EXPECT_TRUE(rows.add(parts));
    return {std::move(parts), rows.count(), inner};
  }

  std::deque<Variable> variables_;
};

TEST_F(RowKernelTest, RunsPartsOneAfterTheOther) {
  const Cell* x = variable({3}, 1);
  const Cell* y = variable({3});
  const Cell* z = variable({3});
  together({shifted(y, x, 10), shifted(z, y, 100), shifted(y, z, 1000)}).run();
  EXPECT_THAT(values(z), ElementsAre(111, 112, 113));
  EXPECT_THAT(values(y), ElementsAre(1111, 1112, 1113));
}

TEST_F(RowKernelTest, WithoutPartsDoesNothing) {
  RowKernel().run();
}

TEST_F(RowKernelTest, OfNoElementsDoesNothing) {
  RowKernel(shifted(variable({0, 3}), variable({0, 3}), 1)).run();
}

TEST_F(RowKernelTest, GivesVariablesOfItsOwnNoMemoryButThatOfATile) {
  const Cell* x = variable({100'000}, 1);
  const Cell* inner = variable({100'000}, -5);
  const Cell* out = variable({100'000});
  const RowKernel kernel = together({shifted(inner, x, 10), shifted(out, inner, 100)}, {inner});
  kernel.run();
  EXPECT_THAT(kernel.inner(), ElementsAre(inner));
  EXPECT_EQ(values(out)[99'999], 100'110);
  EXPECT_EQ(values(inner)[0], -5);
}

TEST_F(RowKernelTest, WritesAVariableThatNobodyReadsToATile) {
  const Cell* inner = variable({4}, -5);
  together({shifted(inner, variable({4}), 10)}, {inner}).run();
  EXPECT_EQ(values(inner)[0], -5);
}

TEST_F(RowKernelTest, KeepsInMemoryWhatTilesHaveNoRoomFor) {
  const Cell* x = variable({5'000}, 1);
  std::vector<RowPart> parts;
  std::set<const Cell*> inner;
  for (int i = 0; i < 20; ++i) {
    const Cell* made = variable({5'000});
    parts.push_back(shifted(made, x, static_cast<float>(i)));
    inner.insert(made);
  }
  const Cell* out = variable({5'000});
  for (const Cell* made : inner) parts.push_back(shifted(out, made, 0));
  const std::vector<RowPart> again(parts.begin(), parts.begin() + 20);
  parts.insert(parts.end(), again.begin(), again.end());  // written twice: in one place
  const RowKernel kernel = together(parts, inner);
  kernel.run();
  EXPECT_LT(kernel.inner().size(), inner.size());
  for (const Cell* made : inner) {
    const float untouched = 0;
    EXPECT_EQ(kernel.inner().contains(made), values(made)[0] == untouched);
  }
}

TEST_F(RowKernelTest, SumsRowsAndSpreadsTheSumsAgain) {
  constexpr std::int64_t kRows = 1000;
  const Cell* x = variable({kRows, 16});
  const Cell* shifted_x = variable({kRows, 16});
  const Cell* sums = variable({kRows, 1});
  const Cell* out = variable({kRows, 16});
  const Cell* rest = variable({kRows});
  const RowKernel kernel = together({shifted(shifted_x, x, 1), summed(sums, shifted_x),
                                     minus_of_row(out, shifted_x, sums), summed(rest, out)},
                                    {shifted_x, sums, out});
  for (const int threads : {1, 2, 5}) {
    const ThreadCountScope scope(threads);
    std::ranges::fill(variables_.back().values, -1.0f);
    kernel.run();
    // The sum of a row minus 16 times itself.
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto sum = static_cast<float>(16 * (16 * i + 1) + 120);
      ASSERT_EQ(values(rest)[static_cast<std::size_t>(i)], -15 * sum) << i;
    }
  }
}

TEST_F(RowKernelTest, ReadsRowsOfAnInputThatHasFewerElements) {
  const Cell* out = variable({300, 2});
  RowKernel(minus_of_row(out, variable({300, 2}, 1), variable({300, 1}))).run();
  EXPECT_EQ(values(out)[0], 1);
  EXPECT_EQ(values(out)[599], 600 - 299);
}

class CommonRowsTest : public RowKernelTest {
 protected:
  CommonRows rows_;
};

TEST_F(CommonRowsTest, AreElementsOfMapsOfOneSize) {
  const Cell* x = variable({50'000});
  const Cell* y = variable({50'000});
  EXPECT_TRUE(rows_.add({shifted(y, x, 1)}));
  EXPECT_TRUE(rows_.add({shifted(x, y, 1)}));
  EXPECT_EQ(rows_.count(), 50'000);
}

TEST_F(CommonRowsTest, AreThoseOfASum) {
  const Cell* x = variable({500, 100});
  EXPECT_TRUE(rows_.add({shifted(x, x, 1)}));
  EXPECT_TRUE(rows_.add({summed(variable({500}), x)}));
  EXPECT_EQ(rows_.count(), 500);
}

TEST_F(CommonRowsTest, AreNotFoundForWhatReadsAnyElementOfWhatWasWritten) {
  const Cell* x = variable({50'000});
  EXPECT_TRUE(rows_.add({shifted(x, x, 1)}));
  EXPECT_FALSE(rows_.add({first_of_all(variable({50'000}), x)}));
  EXPECT_TRUE(rows_.add({first_of_all(variable({50'000}), variable({3}))}));
}

TEST_F(CommonRowsTest, AreNotFoundForWhatOverwritesWhatWasReadAsAWhole) {
  const Cell* x = variable({50'000});
  EXPECT_TRUE(rows_.add({first_of_all(variable({50'000}), x)}));
  EXPECT_FALSE(rows_.add({shifted(x, variable({50'000}), 1)}));
}

TEST_F(CommonRowsTest, AreNotFoundForSizesThatHaveLittleInCommon) {
  EXPECT_TRUE(rows_.add({shifted(variable({50'000}), variable({50'000}), 1)}));
  EXPECT_FALSE(rows_.add({shifted(variable({49'999}), variable({49'999}), 1)}));
  EXPECT_FALSE(rows_.add({summed(variable({2}), variable({2, 25'000}))}));
  EXPECT_EQ(rows_.count(), 50'000);
}

TEST_F(CommonRowsTest, OfWhatFitsInATileMayBeOne) {
  const Cell* x = variable({7});
  const Cell* y = variable({5});
  EXPECT_TRUE(rows_.add({shifted(x, x, 1)}));
  EXPECT_TRUE(rows_.add({first_of_all(y, x)}));
  EXPECT_TRUE(rows_.add({shifted(x, x, 1)}));
  EXPECT_EQ(rows_.count(), 1);
  together({shifted(x, x, 1), first_of_all(y, x), shifted(x, x, 1)}).run();
  EXPECT_THAT(values(y), Each(1));
}

TEST_F(CommonRowsTest, OfSeveralPartsAreThoseOfOneAfterTheOther) {
  const Cell* x = variable({50'000});
  const Cell* y = variable({50'000});
  EXPECT_FALSE(rows_.add({first_of_all(y, x), shifted(x, y, 1)}));
  EXPECT_EQ(rows_.count(), 0);
  const Cell* small = variable({6});
  EXPECT_TRUE(rows_.add({first_of_all(variable({6}), small), shifted(small, small, 1)}));
  EXPECT_EQ(rows_.count(), 1);
}

TEST_F(CommonRowsTest, AreNotFoundWhereThereIsNoElement) {
  EXPECT_FALSE(rows_.add({shifted(variable({0}), variable({0}), 1)}));
}

}  // namespace
}  // namespace fluidcore
