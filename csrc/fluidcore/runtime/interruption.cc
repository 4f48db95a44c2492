#include "fluidcore/runtime/interruption.h"

#include <utility>

namespace fluidcore {

void Interruption::limit(Seconds seconds, Clock::time_point start) {
  has_deadline_ = true;
  limit_ = seconds;
  deadline_ = start + std::chrono::duration_cast<Clock::duration>(seconds);
}

bool Interruption::is_over() const {
  return ended_.load(std::memory_order_acquire) || (has_deadline_ && Clock::now() >= deadline_);
}

void Interruption::check(std::string_view who) {
  if (ended_.load(std::memory_order_acquire)) rethrow(who);
  if (!has_deadline_ && !poll_) return;
  const Clock::time_point now = Clock::now();
  if (has_deadline_ && now >= deadline_) {
    throw TimedOut(who, ": the run must end within ", limit_.count(), " s, got this still to do; ",
                   "give it more time, or look for a loop without an end");
  }
  if (!poll_ || owner_ != std::this_thread::get_id() || now < next_poll_) return;
  const bool is_first = next_poll_ == Clock::time_point();
  next_poll_ = now + kPollInterval;
  if (is_first) return;
  try {
    poll_();
  } catch (...) {
    end(std::current_exception());
    throw;
  }
  next_poll_ = Clock::now() + kPollInterval;
}

void Interruption::end(std::exception_ptr cause) {
  {
    const std::lock_guard lock(mutex_);
    cause_ = std::move(cause);
  }
  request();
}

void Interruption::rethrow(std::string_view who) const {
  std::exception_ptr cause;
  {
    const std::lock_guard lock(mutex_);
    cause = cause_;
  }
  if (cause) std::rethrow_exception(cause);
  throw Interrupted(who, ": the run must go on to its end, got a request to end it here");
}

}  // namespace fluidcore
