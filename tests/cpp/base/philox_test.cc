#include "fluidcore/base/philox.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using ::testing::ElementsAre;

// The known answers published with the algorithm.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_THAT(Philox::bits({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  EXPECT_THAT(Philox::bits({0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
                           {0xffffffffu, 0xffffffffu}),
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(Philox::bits({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                           {0xa4093822u, 0x299f31d0u}),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(RandomSequence, DiffersByKeyAndByOffset) {
  const RandomSequence numbers{1, 0};
  EXPECT_EQ(numbers.uniform<double>(5), (RandomSequence{1, 0}.uniform<double>(5)));
  EXPECT_NE(numbers.uniform<double>(5), (RandomSequence{2, 0}.uniform<double>(5)));
  EXPECT_NE(numbers.uniform<double>(5), (RandomSequence{1, 1}.uniform<double>(5)));
}

TEST(RandomSequence, WithTheNextOffsetIsNotTheSameOneShifted) {
  const RandomSequence numbers{1, 0};
  const RandomSequence next{1, 1};
  EXPECT_NE(numbers.uniform<double>(1), next.uniform<double>(0));
}

TEST(RandomSequence, UniformNumbersAreInTheUnitIntervalWithMeanOneHalf) {
  const RandomSequence numbers{7, 3};
  double sum = 0;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    const float value = numbers.uniform<float>(static_cast<std::uint64_t>(i));
    ASSERT_GE(value, 0.0F);
    ASSERT_LT(value, 1.0F);
    sum += value;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.01);
}

TEST(RandomSequence, NormalNumbersHaveMeanZeroAndDeviationOne) {
  const RandomSequence numbers{7, 3};
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    const double value = numbers.normal<double>(static_cast<std::uint64_t>(i));
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.03);
  EXPECT_NEAR(squares / kCount, 1.0, 0.03);
}

}  // namespace
}  // namespace fluidcore
