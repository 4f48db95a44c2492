#include "fluidcore/gradcheck/function/workers.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/threads.h"

namespace fluidcore::gradcheck {

namespace {

// The exception of the first block that failed.
class FirstFailure {
 public:
  void note(std::int64_t block) {
    const std::lock_guard lock(mutex_);
    if (block >= block_) return;
    block_ = block;
    exception_ = std::current_exception();
  }
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::int64_t block_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr exception_;
};

// Counts threads that work.
class Busy {
 public:
  void enter() { change(1); }
  void leave() { change(-1); }
  // Until nobody works. Throws what Interruption::check() throws.
  void wait(Interruption* interruption) {
    std::unique_lock lock(mutex_);
    while (count_ > 0) {
      changed_.wait_for(lock, Interruption::kPollInterval);
      if (interruption == nullptr) continue;
      lock.unlock();
      interruption->check("gradcheck");
      lock.lock();
    }
  }

 private:
  void change(int by) {
    const std::lock_guard lock(mutex_);
    count_ += by;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace

Workers::Workers(Function& function,
                 std::optional<std::size_t> only,
                 std::int64_t threads,
                 std::int64_t blocks)
    : original_(function), threads_each_(1) {
  check_workers(threads);
  const std::int64_t count = std::max<std::int64_t>(1, std::min(blocks, threads));
  for (std::int64_t worker = 0; worker < count; ++worker) {
    // What a fork has found out about `only`, its forks need not find out again.
    const Function& first = forks_.empty() ? function : *forks_.front();
    std::unique_ptr<Function> fork = first.fork(only);
    if (fork == nullptr) break;
    fork->set_interruption(function.interruption());
    forks_.push_back(std::move(fork));
  }
  threads_each_ = static_cast<int>(threads / static_cast<std::int64_t>(size()));
  for (const auto& fork : forks_) {
    if (is_large(*fork)) fork->use_threads(threads_each_);
  }
}

void Workers::run(std::int64_t count, std::int64_t block, const Work& work) const {
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> stop = false;
  FirstFailure failure;
  const auto take_blocks = [&](std::size_t worker) {
    const ThreadCountScope threads_of_block(threads_each_);
    while (!stop) {
      const std::int64_t begin = next.fetch_add(block);
      if (begin >= count) return;
      try {
        work(worker, begin, std::min(begin + block, count));
      } catch (...) {
        failure.note(begin);
        stop = true;
      }
    }
  };
  Busy others;
  const auto work_aside = [&](std::size_t worker) {
    take_blocks(worker);
    others.leave();
  };
  std::vector<std::thread> threads;
  threads.reserve(size());
  for (std::size_t worker = 1; worker < size(); ++worker) {
    try {
      threads.emplace_back(work_aside, worker);
      others.enter();
    } catch (const std::system_error&) {
      break;  // fewer threads do the same
    }
  }
  take_blocks(0);
  try {
    others.wait(function(0).interruption());
  } catch (...) {
    failure.note(count);
    stop = true;
  }
  for (std::thread& thread : threads) thread.join();
  failure.rethrow();
}

void check_workers(std::int64_t threads) {
  constexpr std::int64_t kMost = 1024;
  require(threads >= 1 && threads <= kMost, "gradcheck: workers must be between 1 and ", kMost,
          ", got ", threads);
}

bool is_large(const Function& function) {
  constexpr std::int64_t kMany = 1 << 14;
  std::int64_t size = 0;
  for (const Tensor& input : function.inputs()) {
    if (input.dtype() != DType::kFloat64) return false;
    size += input.size();
  }
  return size >= kMany;
}

}  // namespace fluidcore::gradcheck
