#pragma once

#include <algorithm>
#include <cstdint>

#include <omp.h>

namespace fluidcore {

// The number of threads that parallel code started by this thread may use.
inline int num_threads() {
  return omp_get_max_threads();
}

// While it lives, parallel code started by this thread uses `count` threads; this thread's own
// setting comes back afterwards. Other threads are not affected.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int count) : previous_(omp_get_max_threads()) {
    if (count != previous_) omp_set_num_threads(count);
  }
  ~ThreadCountScope() {
    if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
  }
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int previous_;
};

// Lets a child process use its threads after fork(): libgomp's pool does not survive it, and a
// child that waits for the parent's threads would hang. Called once, by the Python module.
void survive_fork();

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
#pragma omp parallel for num_threads(static_cast<int>(parts)) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    f(size * part / parts, size * (part + 1) / parts);
  }
}

}  // namespace fluidcore
