#include "fluidcore/base/shape.h"

#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"

namespace fluidcore {
namespace {

using ::testing::ThrowsMessage;

TEST(Shape, CountsItsElements) {
  EXPECT_EQ((Shape{2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ((Shape{3, 0}).num_elements(), 0);
}

TEST(Shape, HasAnUnknownCountUnlessAnExtentIsZero) {
  EXPECT_EQ((Shape{-1, 3}).num_elements(), -1);
  EXPECT_EQ((Shape{-1, 0}).num_elements(), 0);
  EXPECT_FALSE((Shape{-1, 3}).is_known());
  EXPECT_TRUE((Shape{2, 3}).is_known());
}

TEST(Shape, RefusesToCountMoreThan64Bits) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT([] { Shape({kHuge, 2}).num_elements(); },
              ThrowsMessage<InvalidArgument>("shape [9223372036854775807, 2] has more elements "
                                             "than can be counted"));
}

TEST(Shape, MultipliesARangeOfExtents) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.product(0, 0), 1);
  EXPECT_EQ(shape.product(1, 3), 12);
  EXPECT_EQ((Shape{-1, 3}).product(1, 2), 3);
}

TEST(Shape, PrintsAsAList) {
  EXPECT_EQ(to_string(Shape{2, -1}), "[2, -1]");
  EXPECT_EQ(to_string(Shape()), "[]");
  EXPECT_EQ(to_string(TensorSpec{Shape{2}, DType::kFloat64}), "float64 [2]");
  EXPECT_EQ(to_string(TensorSpec{{7, 3}, DType::kFloat32, -1}), "float32 [7, 3] selected rows");
  EXPECT_EQ(to_string(TensorSpec{{7, 3}, DType::kFloat32, 5}), "float32 [7, 3], 5 selected rows");
}

TEST(Compatible, LetsUnknownExtentsAgreeWithEverything) {
  EXPECT_TRUE(compatible(Shape{-1, 3}, Shape{5, 3}));
  EXPECT_TRUE(compatible(Shape{5, -1}, Shape{-1, 3}));
  EXPECT_FALSE(compatible(Shape{-1, 3}, Shape{5, 4}));
  EXPECT_FALSE(compatible(Shape{3}, Shape{3, 1}));
}

TEST(NormalizeAxis, CountsNegativeAxesFromTheEnd) {
  EXPECT_EQ(normalize_axis(-1, 3, "softmax"), 2u);
  EXPECT_EQ(normalize_axis(-3, 3, "softmax"), 0u);
  EXPECT_EQ(normalize_axis(1, 3, "softmax"), 1u);
}

TEST(NormalizeAxis, RefusesAnAxisOutside) {
  EXPECT_THAT([] { normalize_axis(3, 3, "softmax"); },
              ThrowsMessage<InvalidArgument>(
                  "softmax: axis must be in [-3, 3) for an input of rank 3, got 3"));
  EXPECT_THROW(normalize_axis(0, 0, "softmax"), InvalidArgument);
  EXPECT_THROW(normalize_axis(std::numeric_limits<std::int64_t>::min(), 2, "softmax"),
               InvalidArgument);
}

TEST(Broadcast, AlignsTheLastDimensionsAsNumpyDoes) {
  EXPECT_EQ(broadcast({2, 3, 4}, {3, 4}, -1, "add"), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast({4}, {2, 3, 1}, -1, "add"), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast({2, 1}, {1, 3}, -1, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({}, {2, 3}, -1, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({}, {}, -1, "add"), Shape());
  EXPECT_EQ(broadcast({0, 3}, {1, 3}, -1, "add"), (Shape{0, 3}));
}

TEST(Broadcast, PutsYAtTheAxisOfX) {
  EXPECT_EQ(broadcast({2, 3, 4, 5}, {3, 4}, 1, "add"), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(broadcast({2, 3}, {2}, 0, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({2, 3}, {1}, 1, "add"), (Shape{2, 3}));
  EXPECT_EQ(align({3, 4}, 1, 4, 4), (Shape{1, 3, 4, 1}));
  EXPECT_EQ(align({3, 4}, -1, 4, 4), (Shape{1, 1, 3, 4}));
}

TEST(Broadcast, KnowsAnUnknownExtentFromTheOtherSide) {
  EXPECT_EQ(broadcast({-1, 3}, {5, 3}, -1, "add"), (Shape{5, 3}));
  EXPECT_EQ(broadcast({-1, 3}, {1, 3}, -1, "add"), (Shape{-1, 3}));
  EXPECT_EQ(broadcast({-1, 3}, {3}, -1, "add"), (Shape{-1, 3}));
  EXPECT_EQ(broadcast({1, 3}, {-1, 3}, -1, "add"), (Shape{-1, 3}));
  EXPECT_EQ(broadcast({5, 3}, {-1, 3}, -1, "add"), (Shape{5, 3}));
}

TEST(Broadcast, RefusesExtentsThatDoNotFit) {
  EXPECT_THAT([] { broadcast({2, 3}, {2}, -1, "add"); },
              ThrowsMessage<InvalidArgument>("add: X and Y must have equal extents or 1 in every "
                                             "dimension, got X [2, 3], Y [2]"));
  EXPECT_THAT([] { broadcast({2, 3}, {3}, 0, "add"); },
              ThrowsMessage<InvalidArgument>("add: X and Y must have equal extents or 1 in every "
                                             "dimension, got X [2, 3], Y [3], axis 0"));
  EXPECT_THAT([] { broadcast({2, 3}, {3, 1}, 1, "add"); },
              ThrowsMessage<InvalidArgument>("add: Y must fit into X from dimension axis on, got "
                                             "X [2, 3], Y [3, 1], axis 1"));
  EXPECT_THAT([] { broadcast({2, 3}, {3}, -2, "add"); },
              ThrowsMessage<InvalidArgument>("add: axis must be at least -1, got -2"));
}

TEST(TensorSpec, HoldsAllRowsOfATensorAndTheSelectedOnesElse) {
  EXPECT_EQ(held_shape({{7, 3}, DType::kFloat32}), (Shape{7, 3}));
  EXPECT_EQ(held_shape({{7, 3}, DType::kFloat32, 5}), (Shape{5, 3}));
  EXPECT_EQ(held_shape({{}, DType::kFloat32, -1}), Shape());  // declared so; nothing makes them
}

TEST(TensorSpec, IsKnownWhereNothingIsLeftForRunTime) {
  EXPECT_TRUE(is_known({{7, 3}, DType::kFloat32}));
  EXPECT_TRUE(is_known({{7, 3}, DType::kFloat32, 0}));
  EXPECT_FALSE(is_known({{-1, 3}, DType::kFloat32}));
  EXPECT_FALSE(is_known({{7, 3}, DType::kFloat32, -1}));
}

}  // namespace
}  // namespace fluidcore
