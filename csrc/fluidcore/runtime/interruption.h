#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

#include "fluidcore/base/error.h"

namespace fluidcore {

// A run was told to end before it was done; the scope is as it was before the run.
class Interrupted : public Error {
 public:
  using Error::Error;
};

// The time of a run was over. Python: TimeoutError.
class TimedOut : public Interrupted {
 public:
  using Interrupted::Interrupted;
};

// Ends runs early: from another thread, at a deadline, or for what a poll finds.
//
//   Interruption interruption;
//   std::thread other([&] { wait_for_the_user(); interruption.request(); });
//   options.interruption = &interruption;
//   executor.run(program, feeds, fetches, scope, options);  // throws Interrupted
//
// A run looks between two operators, those of loops and branches included; an operator that has
// begun is not interrupted. Several runs, on several threads, may share an Interruption; what ends
// one of them ends all, and it ends those that come, too.
class Interruption {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  static constexpr std::chrono::milliseconds kPollInterval{20};

  Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Sets a deadline. To be called before the first run.
  void limit(Seconds seconds, Clock::time_point start = Clock::now());
  // Calls `poll` every kPollInterval, when a run looks on the thread that has constructed this.
  // What it throws ends all runs, each with this exception. To be called before the first run.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }

  // Tells all runs to end. Any thread may call it, and a signal handler.
  void request() noexcept { ended_.store(true, std::memory_order_release); }

  // Throws Interrupted, TimedOut, or what the poll has thrown; `who` is what would come next.
  void check(std::string_view who);

  // True when check() would throw without a poll.
  bool is_over() const;
  // True when a run should look at once, because it is over or its time is limited.
  bool is_urgent() const noexcept {
    return has_deadline_ || ended_.load(std::memory_order_relaxed);
  }

 private:
  void end(std::exception_ptr cause);
  [[noreturn]] void rethrow(std::string_view who) const;

  std::atomic<bool> ended_ = false;
  bool has_deadline_ = false;
  Seconds limit_{0};
  Clock::time_point deadline_;
  std::function<void()> poll_;
  Clock::time_point next_poll_;
  std::thread::id owner_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  std::exception_ptr cause_;  // what the poll has thrown
};

}  // namespace fluidcore
