#include "fluidcore/runtime/pace.h"

#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using std::chrono::milliseconds;
const Pace::Clock::time_point kNow{std::chrono::seconds(1000)};

TEST(Pace, KeepsAllThreadsWhileRunsTakeTheSameTime) {
  Pace pace;
  for (int i = 0; i < 10; ++i) pace.report(0.001, 1, kNow);
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow));
}

TEST(Pace, DoesNotMindOneSlowRun) {
  Pace pace;
  for (const double seconds : {0.001, 0.01, 0.001, 0.01, 0.001}) pace.report(seconds, 1, kNow);
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow));
}

TEST(Pace, AsksForFewerThreadsAfterTwoSlowRunsAndSoonTriesAgain) {
  Pace pace;
  for (const double seconds : {0.001, 0.008, 0.008}) pace.report(seconds, 1, kNow);
  EXPECT_TRUE(pace.prefers_fewer_threads(kNow + milliseconds(4)));
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow + milliseconds(5)));
}

TEST(Pace, WaitsTwiceAsLongWhenItIsTriedInVainUpToASecond) {
  Pace pace;
  pace.report(0.001, 1, kNow);
  for (int i = 0; i < 20; ++i) pace.report(0.008, 1, kNow);
  EXPECT_TRUE(pace.prefers_fewer_threads(kNow + milliseconds(999)));
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow + milliseconds(1000)));
}

TEST(Pace, DoesNotMindThatTheFirstRunAfterABreakIsSlow) {
  Pace pace;
  for (const double seconds : {0.001, 0.008, 0.008}) pace.report(seconds, 1, kNow);
  pace.report(0.003, 1, kNow + milliseconds(300));
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow + milliseconds(301)));
}

TEST(Pace, DoesNotMindThatThreadsOfAShortRunWakeUp) {
  Pace pace;
  for (const double seconds : {0.00004, 0.0003, 0.00009, 0.0004}) pace.report(seconds, 1, kNow);
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow));
  for (const double seconds : {0.003, 0.002}) pace.report(seconds, 1, kNow);
  EXPECT_TRUE(pace.prefers_fewer_threads(kNow));
}

TEST(Pace, DoesNotMindThatRunsOfALoopDiffer) {
  Pace pace;
  pace.report(0.001, 10, kNow);
  for (int i = 0; i < 5; ++i) pace.report(0.01, 100, kNow);
  pace.report(0.004, 20, kNow);
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow));
  for (int i = 0; i < 2; ++i) pace.report(0.03, 100, kNow);
  EXPECT_TRUE(pace.prefers_fewer_threads(kNow));
}

TEST(Pace, ForgetsTheBreaksWhenARunIsFastAgain) {
  Pace pace;
  for (const double seconds : {0.001, 0.008, 0.008, 0.008, 0.008, 0.001, 0.008, 0.008}) {
    pace.report(seconds, 1, kNow);
  }
  EXPECT_TRUE(pace.prefers_fewer_threads(kNow + milliseconds(4)));
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow + milliseconds(11)));
}

TEST(Pace, LeavesLongRunsAlone) {
  Pace pace;
  for (const double seconds : {0.1, 0.8, 0.8, 0.8}) pace.report(seconds, 1, kNow);
  EXPECT_FALSE(pace.prefers_fewer_threads(kNow));
}

}  // namespace
}  // namespace fluidcore
