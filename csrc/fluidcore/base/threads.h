#pragma once

#include <algorithm>
#include <cstdint>

#ifdef FLUIDCORE_WITH_OPENMP
#include <omp.h>
#endif

namespace fluidcore {

// The threads are OpenMP's, which oneDNN uses too. Without it, as ThreadSanitizer wants, because it
// cannot see into libgomp, every parallel_for() starts threads of its own.
#ifdef FLUIDCORE_WITH_OPENMP
// The number of threads that parallel code started by this thread may use.
inline int num_threads() {
  return omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
}
inline void set_num_threads(int count) {
  omp_set_num_threads(count);
}
#else
int num_threads();
void set_num_threads(int count);
// Calls run(f, part) for each part, on a thread of its own.
void run_parts(std::int64_t parts, void (*run)(const void* f, std::int64_t part), const void* f);
#endif

// While it lives, parallel code started by this thread uses `count` threads; this thread's own
// setting comes back afterwards. Other threads are not affected.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int count) : previous_(num_threads()) {
    if (count != previous_) set_num_threads(count);
  }
  ~ThreadCountScope() {
    if (num_threads() != previous_) set_num_threads(previous_);
  }
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int previous_;
};

// Lets a child process use its threads after fork(): libgomp's pool does not survive it, and a
// child that waits for the parent's threads would hang. Called once, by the Python module.
void survive_fork();
// How many forks, since survive_fork() was called, lead from that process to this one.
std::uint64_t num_forks();

// Calls f(begin, end) on parts of [0, size) of at least `grain` elements each, on several threads
// when there is more than one part. f must not throw. Which thread runs a part changes no result
// as long as f treats elements independently.
template <class F>
void parallel_for(std::int64_t size, std::int64_t grain, const F& f) {
  const std::int64_t parts =
      std::min<std::int64_t>(num_threads(), size / std::max<std::int64_t>(grain, 1));
  if (parts <= 1) {
    if (size > 0) f(std::int64_t{0}, size);
    return;
  }
  const auto run_part = [&](std::int64_t part) {
    f(size * part / parts, size * (part + 1) / parts);
  };
#ifdef FLUIDCORE_WITH_OPENMP
#pragma omp parallel for num_threads(static_cast<int>(parts)) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part) run_part(part);
#else
  using RunPart = decltype(run_part);
  run_parts(
      parts, [](const void* run, std::int64_t part) { (*static_cast<const RunPart*>(run))(part); },
      &run_part);
#endif
}

}  // namespace fluidcore
