#include "fluidcore/kernels/cpu/merge_rows.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore::cpu {
namespace {

using ::testing::ElementsAre;

struct Found {
  std::int64_t count;
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> distinct;
};

Found find(const std::vector<std::int64_t>& numbers) {
  Found found{0, std::vector<std::int64_t>(numbers.size()),
              std::vector<std::int64_t>(numbers.size())};
  found.count = find_distinct(static_cast<std::int64_t>(numbers.size()), numbers.data(),
                              found.places.data(), found.distinct.data());
  return found;
}

TEST(FindDistinct, SortsTheNumbersAndTellsWhereEachIs) {
  const Found found = find({7, 3, 7, -1, 0, 3});
  EXPECT_EQ(found.count, 3);
  EXPECT_THAT(found.distinct, ElementsAre(0, 3, 7, -1, -1, -1));
  EXPECT_THAT(found.places, ElementsAre(2, 1, 2, -1, 0, 1));
}

TEST(FindDistinct, FindsNoneInNothing) {
  EXPECT_EQ(find({}).count, 0);
  const Found found = find({-1, -1});
  EXPECT_EQ(found.count, 0);
  EXPECT_THAT(found.distinct, ElementsAre(-1, -1));
  EXPECT_THAT(found.places, ElementsAre(-1, -1));
}

TEST(FindDistinct, MayOverwriteTheNumbers) {
  std::vector<std::int64_t> numbers{5, 2, 5};
  std::vector<std::int64_t> places(3);
  EXPECT_EQ(find_distinct(3, numbers.data(), places.data(), numbers.data()), 2);
  EXPECT_THAT(numbers, ElementsAre(2, 5, -1));
  EXPECT_THAT(places, ElementsAre(1, 0, 1));
}

}  // namespace
}  // namespace fluidcore::cpu
