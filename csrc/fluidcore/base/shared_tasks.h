#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/base/threads.h"

namespace fluidcore {

// The tasks of [0, count), shared out to workers. Each begins with those that follow each other in
// a share of its own, and then takes what others have not begun: where another process keeps a core
// busy, nobody waits for more than the task that was begun there.
class SharedTasks {
 public:
  SharedTasks(std::int64_t count, std::int64_t workers)
      : shares_(static_cast<std::size_t>(workers)) {
    for (std::int64_t worker = 0; worker < workers; ++worker) {
      Share& share = shares_[static_cast<std::size_t>(worker)];
      share.next = count * worker / workers;
      share.end = count * (worker + 1) / workers;
    }
  }

  // The next task of a worker; nullopt: all are begun.
  std::optional<std::int64_t> next(std::int64_t worker) {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(static_cast<std::size_t>(worker) + i) % shares_.size()];
      if (share.next.load(std::memory_order_relaxed) >= share.end) continue;
      const std::int64_t task = share.next.fetch_add(1, std::memory_order_relaxed);
      if (task < share.end) return task;
    }
    return std::nullopt;
  }

 private:
  struct alignas(64) Share {  // a cache line
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };

  std::vector<Share> shares_;
};

// Calls f(worker, next) for each worker, several at a time on as many threads. It asks next() for
// the tasks of [0, count) that are its own, until it gets nullopt. f must not throw. Which worker
// has a task changes no result as long as tasks are independent.
template <class F>
void parallel_workers(std::int64_t workers, std::int64_t count, const F& f) {
  SharedTasks tasks(count, workers);
  parallel_for(workers, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t worker = begin; worker < end; ++worker) {
      f(worker, [&tasks, worker] { return tasks.next(worker); });
    }
  });
}

}  // namespace fluidcore
