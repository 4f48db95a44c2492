#include "fluidcore/runtime/hold.h"

#include <algorithm>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/threads.h"

namespace fluidcore {

namespace {

bool conflict(const Wishes& one, const Wishes& other) {
  return std::any_of(one.begin(), one.end(), [&](const Wish& a) {
    return std::any_of(other.begin(), other.end(), [&](const Wish& b) {
      return a.wanted == b.wanted && (a.writes || b.writes);
    });
  });
}

}  // namespace

Holds::Holds() : released_(std::make_unique<std::condition_variable>()), forks_(num_forks()) {
}

Holds::~Holds() {
  // A condition variable that threads of the parent process wait for cannot be destroyed.
  if (forks_ != num_forks()) released_.release();  // NOLINT(bugprone-unused-return-value)
}

void Holds::take(const Wish& wish) {
  if (wish.writes) {
    wish.wanted->is_written_ = true;
  } else {
    ++wish.wanted->readers_;
  }
}

void Holds::give_back(const Wish& wish) {
  if (wish.writes) {
    wish.wanted->is_written_ = false;
  } else {
    --wish.wanted->readers_;
  }
}

bool Holds::is_free(const Wish& wish) {
  return !wish.wanted->is_written_ && (!wish.writes || wish.wanted->readers_ == 0);
}

bool Holds::is_first(const Hold& hold) const {
  for (const Hold* before : waiting_) {
    if (before == &hold) return true;
    if (conflict(*before->wishes_, *hold.wishes_)) return false;
  }
  return true;
}

bool Holds::has_other_of_thread(const Hold& hold) const {
  const auto is_other = [&](const Hold* other) {
    return other != &hold && other->thread_ == hold.thread_;
  };
  return std::any_of(active_.begin(), active_.end(), is_other) ||
         std::any_of(waiting_.begin(), waiting_.end(), is_other);
}

// In a child process only the thread that has forked goes on.
void Holds::forget_parent() {
  if (forks_ == num_forks()) return;
  forks_ = num_forks();
  released_.release();  // NOLINT(bugprone-unused-return-value)
  released_ = std::make_unique<std::condition_variable>();
  const auto is_gone = [](const Hold* hold) { return hold->thread_ != std::this_thread::get_id(); };
  for (const Hold* hold : active_) {
    if (is_gone(hold)) std::for_each(hold->wishes_->begin(), hold->wishes_->end(), give_back);
  }
  std::erase_if(active_, is_gone);
  std::erase_if(waiting_, is_gone);
}

Holds::Lock Hold::begin(Wishes& wishes) {
  Holds::Lock lock = holds_.lock();
  holds_.forget_parent();
  wishes_ = &wishes;
  return lock;
}

Holds::Lock Hold::try_acquire(Wishes& wishes) {
  Holds::Lock lock = begin(wishes);
  return try_now() ? std::move(lock) : Holds::Lock();
}

void Hold::add(Wish wish) {
  Holds::take(wish);
  wishes_->push_back(wish);
}

bool Hold::try_now() {
  if (!std::all_of(wishes_->begin(), wishes_->end(), Holds::is_free)) return false;
  // Those who wait before do not matter to a thread that they wait for.
  if (!holds_.waiting_.empty() && !holds_.is_first(*this) && !holds_.has_other_of_thread(*this)) {
    return false;
  }
  std::for_each(wishes_->begin(), wishes_->end(), Holds::take);
  holds_.active_.push_back(this);
  is_active_ = true;
  if (is_waiting_) std::erase(holds_.waiting_, this);
  is_waiting_ = false;
  return true;
}

void Hold::wait(Holds::Lock& lock) {
  const bool is_inside = std::any_of(holds_.active_.begin(), holds_.active_.end(),
                                     [&](const Hold* other) { return other->thread_ == thread_; });
  require(!is_inside, who_, ": a variable of a scope must be used after the run that uses it, got ",
          "a call from inside of that run, as from a signal handler");
  if (!is_waiting_) holds_.waiting_.push_back(this);
  is_waiting_ = true;
  holds_.released_->wait_for(lock, Interruption::kPollInterval);
  if (interruption_ == nullptr) return;
  lock.unlock();
  interruption_->check(who_);
  lock.lock();
}

Hold::~Hold() {
  if (!is_active_ && !is_waiting_) return;
  const Holds::Lock lock = holds_.lock();
  if (is_active_) {
    std::for_each(wishes_->begin(), wishes_->end(), Holds::give_back);
    std::erase(holds_.active_, this);
  }
  if (is_waiting_) std::erase(holds_.waiting_, this);
  if (!holds_.waiting_.empty()) holds_.released_->notify_all();
}

}  // namespace fluidcore
