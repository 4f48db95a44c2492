#include "fluidcore/runtime/thread_group.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/base/error.h"
#include "runtime/on_ranks.h"

namespace fluidcore {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ThreadGroupTest, AddsUpOverTheRanks) {
  const auto errors = on_ranks(3, [](Communicator& ranks) {
    std::vector<double> values{1.0 + ranks.rank(), 0.5};
    ranks.wait(ranks.iallreduce(elements(values), elements(values), "a sum"));
    EXPECT_THAT(values, ElementsAre(6, 1.5));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(ThreadGroupTest, GivesEachRankItsPartOfTheSums) {
  const auto errors = on_ranks(2, [](Communicator& ranks) {
    std::vector<double> values{1, 2, 3, 4.0 + ranks.rank()};
    std::vector<double> part(2);
    ranks.wait(ranks.ireduce_scatter(elements(values), elements(part), "a sum"));
    EXPECT_EQ(part, ranks.rank() == 0 ? (std::vector<double>{2, 4}) : (std::vector<double>{6, 9}));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(ThreadGroupTest, OperationsMayOverlapAndEndInAnyOrder) {
  on_ranks(2, [](Communicator& ranks) {
    std::vector<std::vector<double>> all(50, {1.0 * ranks.rank()});
    std::vector<Communicator::Request> requests;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i][0] += static_cast<double>(i);
      requests.push_back(ranks.iallreduce(elements(all[i]), elements(all[i]), "a sum"));
    }
    for (std::size_t i = all.size(); i-- > 0;) {
      ranks.wait(requests[i]);
      EXPECT_EQ(all[i][0], 2.0 * static_cast<double>(i) + 1);
    }
  });
}

TEST(ThreadGroupTest, GivesAllRanksWhatOneHas) {
  on_ranks(3, [](Communicator& ranks) {
    std::vector<double> values{1.0 * ranks.rank()};
    ranks.wait(ranks.ibroadcast(elements(values), 2, "a broadcast"));
    EXPECT_THAT(values, ElementsAre(2));
  });
}

TEST(ThreadGroupTest, GathersByRank) {
  on_ranks(3, [](Communicator& ranks) {
    std::vector<double> own{1.0 * ranks.rank(), -1};
    std::vector<double> all(6);
    ranks.wait(ranks.iallgather(elements(own), all.data(), "a gathering"));
    EXPECT_THAT(all, ElementsAre(0, -1, 1, -1, 2, -1));
  });
}

TEST(ThreadGroupTest, AFailureEndsTheOthersWithItsReason) {
  const auto errors = on_ranks(3, [](Communicator& ranks) {
    if (ranks.rank() == 1) throw InvalidArgument("relu: no");
    std::vector<double> values{1};
    ranks.wait(ranks.iallreduce(elements(values), elements(values), "the sum of w"));
  });
  EXPECT_THAT(errors, ElementsAre("the sum of w: rank 1 has failed: relu: no", "relu: no",
                                  "the sum of w: rank 1 has failed: relu: no"));
}

TEST(ThreadGroupTest, ARankThatDoesNotComeIsNamed) {
  const auto errors = on_ranks(
      3,
      [](Communicator& ranks) {
        if (ranks.rank() == 2) return;
        std::vector<double> values{1};
        ranks.wait(ranks.iallreduce(elements(values), elements(values), "the sum of w"));
      },
      0.05);
  EXPECT_THAT(errors[0], HasSubstr("the sum of w: rank 2 must begin it within 0.05 s"));
  EXPECT_THAT(errors[1], HasSubstr("the sum of w: rank 2 must begin it within 0.05 s"));
}

TEST(ThreadGroupTest, DifferentOperationsAreRefusedOnAllRanks) {
  const auto errors = on_ranks(2, [](Communicator& ranks) {
    std::vector<double> values(ranks.rank() == 0 ? 3 : 4);
    ranks.wait(ranks.iallreduce(elements(values), elements(values), "the sum of w"));
  });
  EXPECT_THAT(errors, Each(HasSubstr("all ranks must begin the same operation")));
}

TEST(ThreadGroupTest, HasAtLeastOneRank) {
  EXPECT_THAT([] { thread_group(0); },
              ThrowsMessage<InvalidArgument>("thread_group: size must be at least 1, got 0"));
}

}  // namespace
}  // namespace fluidcore
