#include "fluidcore/runtime/hold.h"

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fluidcore {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

// Of one thread, of some of two things.
class Holder {
 public:
  Holder(Holds& holds, Wishes wishes, Interruption* interruption = nullptr)
      : wishes_(std::move(wishes)), hold_(holds, interruption, "test") {}

  void wait() {
    hold_.acquire(wishes_, [](const Holds::Lock& /*lock*/) {});
  }
  bool try_now() { return hold_.try_acquire(wishes_).owns_lock(); }

 private:
  Wishes wishes_;
  Hold hold_;
};

class HoldTest : public testing::Test {
 protected:
  // What another thread gets without waiting.
  bool others_get(Wishes wishes) {
    bool got = false;
    std::thread([&] { got = Holder(holds_, std::move(wishes)).try_now(); }).join();
    return got;
  }

  Holds holds_;
  Holdable a_;
  Holdable b_;
};

TEST_F(HoldTest, LetsAnyNumberReadOrOneWrite) {
  std::optional<Holder> reader(std::in_place, holds_, Wishes{{&a_, false}});
  EXPECT_TRUE(reader->try_now());
  EXPECT_TRUE(others_get({{&a_, false}}));
  EXPECT_FALSE(others_get({{&a_, true}}));
  EXPECT_FALSE(others_get({{&b_, true}, {&a_, true}}));
  EXPECT_TRUE(others_get({{&b_, true}}));
  reader.reset();
  EXPECT_TRUE(others_get({{&a_, true}}));
  Holder writer(holds_, {{&a_, true}});
  EXPECT_TRUE(writer.try_now());
  EXPECT_FALSE(others_get({{&a_, false}}));
}

TEST_F(HoldTest, ServesThoseWhoComeFirstFirst) {
  std::optional<Holder> reader(std::in_place, holds_, Wishes{{&a_, false}});
  reader->wait();
  std::atomic<bool> is_waiting = false;
  std::atomic<bool> has_written = false;
  std::thread writer([&] {
    Wishes wishes{{&a_, true}};
    Hold hold(holds_, nullptr, "test");
    int looks = 0;
    const Holds::Lock lock = hold.acquire(wishes, [&](const Holds::Lock& /*lock*/) {
      if (++looks == 2) is_waiting = true;
    });
    has_written = true;
  });
  while (!is_waiting) std::this_thread::yield();
  EXPECT_FALSE(others_get({{&a_, false}}));  // behind the writer
  EXPECT_FALSE(has_written);
  reader.reset();
  writer.join();
  EXPECT_TRUE(has_written);
  EXPECT_TRUE(others_get({{&a_, true}}));
}

TEST_F(HoldTest, RefusesAThreadThatWouldWaitForItself) {
  Holder run(holds_, {{&a_, true}});
  run.wait();
  Holder handler(holds_, {{&a_, false}});
  EXPECT_THAT([&] { handler.wait(); },
              ThrowsMessage<InvalidArgument>(
                  "test: a variable of a scope must be used after the run that uses it, got a call "
                  "from inside of that run, as from a signal handler"));
  Holder other_variable(holds_, {{&b_, true}});
  other_variable.wait();
}

TEST_F(HoldTest, EndsTheWaitWhenItIsInterrupted) {
  Holder run(holds_, {{&a_, true}});
  run.wait();
  std::thread([&] {
    Interruption interruption;
    interruption.request();
    Holder late(holds_, {{&a_, false}}, &interruption);
    EXPECT_THROW(late.wait(), Interrupted);
  }).join();
}

TEST_F(HoldTest, KeepsThreadsThatWriteTheSameApart) {
  constexpr int kTimes = 200;
  int a = 0;
  int b = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTimes; ++i) {
        Holder hold(holds_, t == 0 ? Wishes{{&a_, true}, {&b_, true}}
                                   : Wishes{{&b_, t == 1}, {&a_, t == 2}});
        hold.wait();
        if (t != 1) ++a;
        if (t != 2) ++b;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(a, 2 * kTimes);
  EXPECT_EQ(b, 2 * kTimes);
}

}  // namespace
}  // namespace fluidcore
