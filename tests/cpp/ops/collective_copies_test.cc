#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_runner.h"
#include "ops/rank_runner.h"

namespace fluidcore {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CollectiveCopiesTest, ABroadcastGivesTheValuesOfItsRoot) {
  const RankRuns ranks(3, [](ProgramRunner& runner, int rank) {
    runner.feed("a", tensor_of({2}, {1.0 * rank, -1.0 * rank}));
    runner.add(
        OpDesc("c_broadcast", {{"X", {"a"}}}, {{"Out", {"x"}}}, {{"root", std::int64_t{1}}}));
    return "x";
  });
  for (const Tensor& x : ranks.results) EXPECT_THAT(values_of(x), ElementsAre(1, -1));
}

TEST(CollectiveCopiesTest, ARootIsOneOfTheRanksHoweverLarge) {
  const RankRuns ranks(1, [](ProgramRunner& runner, int /*rank*/) {
    runner.feed("a", tensor_of({1}, {1}));
    runner.add(
        OpDesc("c_broadcast", {{"X", {"a"}}}, {{"Out", {"x"}}}, {{"root", std::int64_t{1} << 32}}));
    return "x";
  });
  EXPECT_THAT(ranks.errors, Each(HasSubstr("root must be less than the number of ranks, 1, got "
                                           "4294967296")));
}

TEST(CollectiveCopiesTest, RanksAreAsManyAsAnIntCanNumber) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1} << 31}) {
    const RankRuns ranks(1, [count](ProgramRunner& runner, int /*rank*/) {
      runner.feed("a", tensor_of({1}, {1}));
      runner.add(OpDesc("c_part", {{"X", {"a"}}}, {{"Out", {"x"}}}, {{"ranks", count}}));
      return "x";
    });
    EXPECT_THAT(ranks.errors,
                Each(HasSubstr("c_part: ranks must be at least 1 and less than 2^31")));
  }
}

TEST(CollectiveCopiesTest, PartsOfNothingAreNothing) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int /*rank*/) {
    runner.feed("a", tensor_of({0, 3}, {}));
    runner.add(OpDesc("c_part", {{"X", {"a"}}}, {{"Out", {"part"}}}, {{"ranks", std::int64_t{2}}}));
    runner.add(OpDesc("c_allgather", {{"X", {"part"}}, {"Like", {"a"}}}, {{"Out", {"x"}}},
                      {{"ranks", std::int64_t{2}}}));
    runner.add(OpDesc("c_broadcast", {{"X", {"x"}}}, {{"Out", {"y"}}}));
    return "y";
  });
  EXPECT_THAT(ranks.errors, Each(""));
  for (const Tensor& y : ranks.results) EXPECT_THAT(values_of(y), testing::IsEmpty());
}

TEST(CollectiveCopiesTest, SelectedRowsAreThoseOfAllRanks) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int rank) {
    runner.feed("w", tensor_of({4, 1}, {0, 0, 0, 0}));
    runner.feed("ids", tensor_of({2}, {1.0 + rank, 0}, DType::kInt64));
    runner.feed("values", tensor_of({2, 1}, {2, 4}));
    runner.add(OpDesc("lookup_table_v2_grad",
                      {{"W", {"w"}}, {"Ids", {"ids"}}, {"Out@GRAD", {"values"}}},
                      {{"W@GRAD", {"g"}}}, {{"is_sparse", true}}));
    runner.add(
        OpDesc("c_allgather_rows", {{"X", {"g"}}}, {{"Out", {"g"}}}, {{"ranks", std::int64_t{2}}}));
    runner.add("selected_rows_to_dense", "g", "dense");
    return "dense";
  });
  EXPECT_THAT(ranks.errors, Each(""));
  for (const Tensor& dense : ranks.results) EXPECT_THAT(values_of(dense), ElementsAre(4, 1, 1, 0));
}

TEST(CollectiveCopiesTest, RanksThatCountTheirSamplesMayHoldDifferentNumbersOfRows) {
  const RankRuns ranks(3, [](ProgramRunner& runner, int rank) {
    const std::vector<std::vector<double>> ids{{1, 0, 1, 3, 3}, {}, {2}};
    const auto count = static_cast<std::int64_t>(ids[rank].size());
    runner.feed("w", tensor_of({4, 1}, {0, 0, 0, 0}));
    runner.feed("ids", tensor_of({count}, ids[rank], DType::kInt64));
    runner.feed("values", tensor_of({count, 1}, std::vector<double>(ids[rank].size(), 6)));
    runner.feed("n", tensor_of({2}, {1.0 * count, 6}, DType::kInt64));
    runner.add(OpDesc("lookup_table_v2_grad",
                      {{"W", {"w"}}, {"Ids", {"ids"}}, {"Out@GRAD", {"values"}}},
                      {{"W@GRAD", {"g"}}}, {{"is_sparse", true}}));
    runner.add(OpDesc("c_allgather_rows", {{"X", {"g"}}, {"Samples", {"n"}}}, {{"Out", {"g"}}},
                      {{"ranks", std::int64_t{3}}}));
    runner.add("selected_rows_to_dense", "g", "dense");
    return "dense";
  });
  EXPECT_THAT(ranks.errors, Each(""));
  for (const Tensor& dense : ranks.results) {
    EXPECT_THAT(values_of(dense), ElementsAre(5, 10, 1, 10));
  }
}

TEST(CollectiveCopiesTest, SamplesOfSelectedRowsAreTwoNumbers) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int /*rank*/) {
    runner.feed("w", tensor_of({4, 1}, {0, 0, 0, 0}));
    runner.feed("ids", tensor_of({1}, {0}, DType::kInt64));
    runner.feed("values", tensor_of({1, 1}, {2}));
    runner.feed("n", tensor_of({1}, {1}, DType::kInt64));
    runner.add(OpDesc("lookup_table_v2_grad",
                      {{"W", {"w"}}, {"Ids", {"ids"}}, {"Out@GRAD", {"values"}}},
                      {{"W@GRAD", {"g"}}}, {{"is_sparse", true}}));
    runner.add(OpDesc("c_allgather_rows", {{"X", {"g"}}, {"Samples", {"n"}}}, {{"Out", {"g"}}},
                      {{"ranks", std::int64_t{2}}}));
    return "g";
  });
  EXPECT_THAT(ranks.errors,
              Each(HasSubstr("c_allgather_rows: Samples must be int64 [2], got int64 [1]")));
}

TEST(CollectiveCopiesTest, PartsOfAllRanksMakeTheWhole) {
  const RankRuns ranks(3, [](ProgramRunner& runner, int /*rank*/) {
    runner.feed("a", tensor_of({2, 2}, {1, 2, 3, 4}));
    runner.feed("b", tensor_of({3}, {5, 6, 7}));
    runner.add(
        OpDesc("c_part", {{"X", {"a", "b"}}}, {{"Out", {"part"}}}, {{"ranks", std::int64_t{3}}}));
    runner.add("square", "part", "squares");
    runner.add(OpDesc("c_allgather", {{"X", {"squares"}}, {"Like", {"a", "b"}}},
                      {{"Out", {"a2", "b2"}}}, {{"ranks", std::int64_t{3}}}));
    runner.add(OpDesc("concat", {{"X", {"b2", "part"}}}, {{"Out", {"both"}}}));
    return "both";
  });
  EXPECT_THAT(ranks.errors, Each(""));
  EXPECT_THAT(values_of(ranks.results[0]), ElementsAre(25, 36, 49, 1, 2, 3));
  EXPECT_THAT(values_of(ranks.results[1]), ElementsAre(25, 36, 49, 4, 5, 6));
  EXPECT_THAT(values_of(ranks.results[2]), ElementsAre(25, 36, 49, 7, 0, 0));
}

TEST(CollectiveCopiesTest, PartsAreForAsManyRanksAsThereAre) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int /*rank*/) {
    runner.feed("a", tensor_of({3}, {1, 2, 3}));
    runner.add(OpDesc("c_part", {{"X", {"a"}}}, {{"Out", {"part"}}}, {{"ranks", std::int64_t{3}}}));
    return "part";
  });
  EXPECT_THAT(ranks.errors,
              Each(HasSubstr("c_part of a: the program is for 3 ranks, got 2; transform it")));
}

TEST(CollectiveCopiesTest, APartThatDoesNotFitIsRefused) {
  const RankRuns ranks(2, [](ProgramRunner& runner, int /*rank*/) {
    runner.feed("a", tensor_of({3}, {1, 2, 3}));
    runner.add(OpDesc("c_allgather", {{"X", {"a"}}, {"Like", {"a"}}}, {{"Out", {"b"}}},
                      {{"ranks", std::int64_t{2}}}));
    return "b";
  });
  EXPECT_THAT(ranks.errors, Each(HasSubstr("c_allgather: X must be the part of one of 2 ranks, "
                                           "float64 [2] of 3 elements, got float64 [3]")));
}

}  // namespace
}  // namespace fluidcore
