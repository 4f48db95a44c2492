#include "fluidcore/runtime/interruption.h"

#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using testing::ThrowsMessage;

// Looks until a look throws.
void look_for_ever(Interruption& interruption) {
  for (;;) interruption.check("mul");
}

TEST(Interruption, LetsRunsGoOnUntilItIsTold) {
  Interruption interruption;
  interruption.check("mul");
  EXPECT_FALSE(interruption.is_over());
  EXPECT_FALSE(interruption.is_urgent());
  interruption.request();
  EXPECT_TRUE(interruption.is_over());
  EXPECT_TRUE(interruption.is_urgent());
  EXPECT_THAT([&] { interruption.check("mul"); },
              ThrowsMessage<Interrupted>(
                  "mul: the run must go on to its end, got a request to end it here"));
}

TEST(Interruption, EndsWhatAnotherThreadRuns) {
  Interruption interruption;
  std::thread other([&] { EXPECT_THROW(look_for_ever(interruption), Interrupted); });
  interruption.request();
  other.join();
}

TEST(Interruption, HasADeadline) {
  Interruption interruption;
  interruption.limit(Interruption::Seconds(0.001));
  EXPECT_TRUE(interruption.is_urgent());
  EXPECT_THAT([&] { look_for_ever(interruption); },
              ThrowsMessage<TimedOut>("mul: the run must end within 0.001 s, got this still to do; "
                                      "give it more time, or look for a loop without an end"));
}

TEST(Interruption, PollsOnTheThreadThatMadeItAndEndsAllWithWhatThePollThrows) {
  Interruption interruption;
  const std::thread::id here = std::this_thread::get_id();
  int polls = 0;
  interruption.set_poll([&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    if (++polls == 2) throw std::domain_error("enough");
  });
  std::thread other([&] {
    EXPECT_THAT([&] { look_for_ever(interruption); }, ThrowsMessage<std::domain_error>("enough"));
  });
  EXPECT_THAT([&] { look_for_ever(interruption); }, ThrowsMessage<std::domain_error>("enough"));
  other.join();
  EXPECT_EQ(polls, 2);
  EXPECT_TRUE(interruption.is_over());
}

}  // namespace
}  // namespace fluidcore
