#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace fluidcore {

// Decides whether the next run of a plan uses all its threads or fewer.
//
// The threads of a step meet dozens of times. When another process keeps one of their cores busy,
// each meeting may wait for the milliseconds that the system leaves it there, and fewer threads are
// several times faster. A Pace compares every run with the fastest one, and with the one that did
// most in its time, as runs of a loop differ in what they do: after two that took more than twice
// as long as either, by such a wait or more, it asks for fewer threads for a while, then tries
// again; the while doubles as long as that fails, so that it lasts about as long as what disturbs.
// It only speaks of runs that are short enough for such waits to matter.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  bool prefers_fewer_threads(Clock::time_point now) const { return now < retry_at_; }

  // A run took `seconds` for work that a Lookout has counted, and ended at `now`.
  void report(double seconds, double work, Clock::time_point now) {
    best_ = std::min(best_, seconds);
    best_of_work_ = std::min(best_of_work_, seconds / work);
    const double expected = std::max(best_, best_of_work_ * work);
    if (best_ > kLongRun || seconds <= std::max(kSlow * expected, expected + kWait)) {
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
  // Seconds: no time slice is shorter, and a thread that slept is awake before.
  static constexpr double kWait = 0.0005;
  static constexpr int kPatience = 2;
  static constexpr std::chrono::milliseconds kShortestBreak{5};
  static constexpr std::chrono::milliseconds kLongestBreak{1000};

  double best_ = std::numeric_limits<double>::infinity();
  double best_of_work_ = std::numeric_limits<double>::infinity();  // seconds for a unit of it
  int slow_runs_ = 0;
  std::chrono::milliseconds break_ = kShortestBreak;
  Clock::time_point retry_at_ = {};
};

}  // namespace fluidcore
