#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "fluidcore/runtime/interruption.h"

namespace fluidcore {

// What several threads may want at a time: one of them to write it, or any number to read it.
class Holdable {
 private:
  friend class Holds;
  int readers_ = 0;
  bool is_written_ = false;
};

struct Wish {
  Holdable* wanted = nullptr;
  bool writes = false;
};
using Wishes = std::vector<Wish>;

class Hold;

// Who holds what among variables that belong together: those of a tree of scopes. The lock also
// guards the names and the Tensor objects of these scopes; nobody waits for long while having it.
class Holds {
 public:
  using Lock = std::unique_lock<std::mutex>;

  Holds();
  ~Holds();
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;

  Lock lock() { return Lock(mutex_); }

 private:
  friend class Hold;

  static void take(const Wish& wish);
  static void give_back(const Wish& wish);
  static bool is_free(const Wish& wish);
  bool is_first(const Hold& hold) const;  // among those that wait for the same
  bool has_other_of_thread(const Hold& hold) const;
  void forget_parent();

  std::mutex mutex_;
  std::unique_ptr<std::condition_variable> released_;
  std::vector<const Hold*> active_;
  std::vector<const Hold*> waiting_;  // longest first
  std::uint64_t forks_;
};

// Holds variables while it lives, all of them from one moment on, so that no two threads wait for
// each other. Those who come first are served first.
class Hold {
 public:
  // `who` begins messages.
  Hold(Holds& holds, Interruption* interruption, std::string_view who)
      : holds_(holds), interruption_(interruption), who_(who) {}
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // Waits until all `wishes`, which must outlive this, are free. Calls prepare(lock) before every
  // look at them; it may change them. Throws what it throws; what Interruption::check() throws; and
  // InvalidArgument where this thread waits for itself, as in a signal handler during a run.
  template <class Prepare>
  Holds::Lock acquire(Wishes& wishes, const Prepare& prepare) {
    Holds::Lock lock = begin(wishes);
    prepare(lock);
    while (!try_now()) {
      wait(lock);
      prepare(lock);
    }
    return lock;
  }
  // Without waiting; no lock, and nothing is held, where another thread has one of them.
  Holds::Lock try_acquire(Wishes& wishes);
  // To be called with the lock, when acquire() is done: one more, which nobody else knows.
  void add(Wish wish);

 private:
  friend class Holds;

  Holds::Lock begin(Wishes& wishes);
  bool try_now();
  void wait(Holds::Lock& lock);

  Holds& holds_;
  Interruption* interruption_;
  std::string_view who_;
  Wishes* wishes_ = nullptr;
  std::thread::id thread_ = std::this_thread::get_id();
  bool is_active_ = false;
  bool is_waiting_ = false;
};

}  // namespace fluidcore
