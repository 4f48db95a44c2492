#include "fluidcore/runtime/profile.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor_fixture.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;

class ProfileTest : public ExecutorTest {
 protected:
  ProfileTest() { options_.profile = &profile_; }

  // The types of the operators that ran, in the order in which they ended.
  std::vector<std::string> types() const {
    const Profile::Content content = profile_.content();
    std::vector<std::string> types;
    for (const Profile::Event& event : content.events) {
      types.push_back(content.operators[event.op].type);
    }
    return types;
  }

  Profile profile_;
};

TEST_F(ProfileTest, RecordsEveryOperatorOfARun) {
  add_constant("x", 1);
  add("add_one", "x", "y");
  run({}, {"y"});
  run({}, {"y"});
  EXPECT_THAT(types(), ElementsAre("constant", "add_one", "constant", "add_one"));
  EXPECT_EQ(profile_.content().operators.size(), 2);
}

TEST_F(ProfileTest, SaysWhatWasReadAndWritten) {
  add_constant("x", 1);
  add("add_one", "x", "y");
  run({}, {"y"});
  EXPECT_EQ(profile_.content().events[1].bytes, 2 * sizeof(float[2]));
}

TEST_F(ProfileTest, SaysWhichPartOfABlocksTimeItsOperatorsTook) {
  add_constant("count", 3);
  const std::int64_t block = new_block(0);
  add_while(0, "count", block);
  add_in(block, "subtract_one", "count", "count");
  run({}, {"count"});
  EXPECT_THAT(types(), ElementsAre("constant", "subtract_one", "subtract_one", "subtract_one",
                                   "while_positive"));
  const std::vector<Profile::Event> events = profile_.content().events;
  const Profile::Event& loop = events.back();
  std::int64_t inside = 0;
  for (std::size_t i = 1; i + 1 < events.size(); ++i) {
    inside += events[i].duration;
    EXPECT_EQ(events[i].inside, 0);
    EXPECT_GE(events[i].begin, loop.begin);
    EXPECT_LE(events[i].begin + events[i].duration, loop.begin + loop.duration);
  }
  EXPECT_NEAR(static_cast<double>(loop.inside), static_cast<double>(inside), 3);
  EXPECT_GE(loop.duration, loop.inside);
}

TEST_F(ProfileTest, NumbersTheThreadsAsTheyCome) {
  add_constant("x", 1);
  run({}, {"x"});
  std::thread([&] { run({}, {"x"}); }).join();
  const std::vector<Profile::Event> events = profile_.content().events;
  EXPECT_EQ(events[0].thread, 0);
  EXPECT_EQ(events[1].thread, 1);
}

TEST_F(ProfileTest, IsLeftAloneByRunsThatAreNotGivenIt) {
  add_constant("x", 1);
  run({}, {"x"});
  options_.profile = nullptr;
  run({}, {"x"});
  EXPECT_EQ(profile_.content().events.size(), 1);
}

}  // namespace
}  // namespace fluidcore
