#include "fluidcore/op/permutation.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using testing::ElementsAre;

Cell floats(Shape shape) {
  return Cell{.spec = {std::move(shape), DType::kFloat32}};
}

// [2, 5, 3, 4, 7] of examples, steps, parts, heads and features becomes [3, 2, 4, 5, 7].
class PermutationTest : public testing::Test {
 protected:
  Cell part(std::size_t first, Shape shape) const {
    Cell cell = floats(std::move(shape));
    cell.viewed = &to_;
    cell.offset = first * sizeof(float);
    return cell;
  }
  std::optional<StridedCell> source(const Cell& cell) const {
    return source_of(&cell, {permutation_});
  }

  Cell from_ = floats({2, 5, 3, 4, 7});
  Cell to_ = floats({3, 2, 4, 5, 7});
  Permutation permutation_{
      &from_, &to_, {{3, 28, 280}, {2, 420, 140}, {4, 7, 35}, {5, 84, 7}, {7, 1, 1}}};
};

TEST_F(PermutationTest, ATensorThatNothingPermutesIsDense) {
  const Cell other = floats({2, 3, 4});
  for (const auto& where : {source(other), target_of(&other, {permutation_})}) {
    ASSERT_TRUE(where.has_value());
    EXPECT_EQ(where->cell, &other);
    EXPECT_EQ(where->first, 0);
    EXPECT_THAT(where->strides, ElementsAre(12, 4, 1));
  }
}

TEST_F(PermutationTest, AllOfAResultComesFromItsSource) {
  const auto where = source(to_);
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->cell, &from_);
  EXPECT_EQ(where->first, 0);
  EXPECT_THAT(where->strides, ElementsAre(28, 420, 7, 84, 1));
}

TEST_F(PermutationTest, APartOfAResultBeginsWhereItDoesInTheSource) {
  const auto where = source(part(560, {2, 4, 5, 7}));
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->first, 56);
  EXPECT_THAT(where->strides, ElementsAre(420, 7, 84, 1));
  const auto inner = source(part(280 + 140 + 35, {5, 7}));
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->first, 28 + 420 + 7);
  EXPECT_THAT(inner->strides, ElementsAre(84, 1));
}

TEST_F(PermutationTest, DimensionsMayBeCut) {
  const auto where = source(part(0, {3, 2, 2, 2, 5, 7}));
  ASSERT_TRUE(where.has_value());
  EXPECT_THAT(where->strides, ElementsAre(28, 420, 14, 7, 84, 1));
  const auto half = source(part(280 + 70, {2, 5, 7}));
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(half->first, 28 + 14);
}

TEST_F(PermutationTest, DimensionsThatLieTogetherInTheSourceMayBeOne) {
  const Cell from = floats({5, 3, 4});
  const Cell to = floats({3, 4, 5});
  const Permutation permutation{&from, &to, {{3, 4, 20}, {4, 1, 5}, {5, 12, 1}}};
  Cell flat = floats({12, 5});
  flat.viewed = &to;
  const auto where = source_of(&flat, {permutation});
  ASSERT_TRUE(where.has_value());
  EXPECT_THAT(where->strides, ElementsAre(1, 12));
}

TEST_F(PermutationTest, WhatNoStrideSaysIsNothing) {
  EXPECT_FALSE(source(part(0, {6, 4, 5, 7})).has_value());        // parts and examples
  EXPECT_FALSE(source(part(0, {3, 2, 4, 35})).has_value());       // steps and features
  EXPECT_FALSE(source(part(0, {2, 2, 2, 3, 5, 7})).has_value());  // across examples
  EXPECT_FALSE(source(part(7, {4, 5, 7})).has_value());           // begins within a head
  EXPECT_FALSE(source(part(0, {0, 7})).has_value());
}

TEST_F(PermutationTest, ExtentsOfOneAreAnywhere) {
  const auto where = source(part(280, {1, 2, 4, 1, 5, 7}));
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->first, 28);
  EXPECT_THAT(where->strides, ElementsAre(0, 420, 7, 0, 84, 1));
}

TEST_F(PermutationTest, AResultIsPutWhereItsPermutationPutsIt) {
  const auto where = target_of(&from_, {permutation_});
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->cell, &to_);
  EXPECT_THAT(where->strides, ElementsAre(140, 7, 280, 35, 1));
}

// Element by element, for every part of whole rows.
TEST_F(PermutationTest, EveryElementIsFound) {
  const std::vector<std::int64_t> strides = source(to_)->strides;
  for (std::int64_t part_index = 0; part_index < 3; ++part_index) {
    const auto where = source(part(static_cast<std::size_t>(part_index) * 280, {2, 4, 5, 7}));
    ASSERT_TRUE(where.has_value());
    for (std::int64_t n = 0; n < 2; ++n) {
      for (std::int64_t head = 0; head < 4; ++head) {
        for (std::int64_t step = 0; step < 5; ++step) {
          const std::int64_t there =
              part_index * strides[0] + n * strides[1] + head * strides[2] + step * strides[3];
          EXPECT_EQ(where->first + n * where->strides[0] + head * where->strides[1] +
                        step * where->strides[2],
                    there);
        }
      }
    }
  }
}

}  // namespace
}  // namespace fluidcore
