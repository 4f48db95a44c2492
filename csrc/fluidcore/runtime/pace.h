#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace fluidcore {

// Decides whether the next run of a plan uses all its threads or fewer.
//
// The threads of a step meet dozens of times. When another process keeps one of their cores busy,
// each meeting may wait for the milliseconds that the system leaves it there, and fewer threads are
// several times faster. A Pace compares every run with the fastest one: after two that took more
// than twice as long it asks for fewer threads for a while, then tries again; the while doubles as
// long as that fails, so that it lasts about as long as what disturbs. It only speaks of runs that
// are short enough for such waits to matter.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  bool prefers_fewer_threads(Clock::time_point now) const { return now < retry_at_; }

  // A run took `seconds` and ended at `now`.
  void report(double seconds, Clock::time_point now) {
    if (seconds < best_) best_ = seconds;
    if (best_ > kLongRun || seconds <= kSlow * best_) {
      slow_runs_ = 0;
      break_ = kShortestBreak;
    } else if (++slow_runs_ >= kPatience) {
      retry_at_ = now + break_;
      break_ = std::min(2 * break_, kLongestBreak);
      slow_runs_ = 0;  // the first run after it is slow anyhow: threads slept, caches are cold
    }
  }

 private:
  static constexpr double kLongRun = 0.02;  // seconds: several of the system's time slices
  static constexpr double kSlow = 2;
  static constexpr int kPatience = 2;
  static constexpr std::chrono::milliseconds kShortestBreak{5};
  static constexpr std::chrono::milliseconds kLongestBreak{200};

  double best_ = std::numeric_limits<double>::infinity();
  int slow_runs_ = 0;
  std::chrono::milliseconds break_ = kShortestBreak;
  Clock::time_point retry_at_ = {};
};

}  // namespace fluidcore
