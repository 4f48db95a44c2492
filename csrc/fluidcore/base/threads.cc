#include "fluidcore/base/threads.h"

#include <atomic>

#include <pthread.h>

#ifndef FLUIDCORE_WITH_OPENMP
#include <thread>
#include <vector>
#endif

namespace fluidcore {

namespace {

// A fact of the process, which only the child of a fork can tell.
std::atomic<std::uint64_t>& forks() {
  static std::atomic<std::uint64_t> count = 0;
  return count;
}

}  // namespace

#ifndef FLUIDCORE_WITH_OPENMP
namespace {
thread_local int thread_count = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}  // namespace

int num_threads() {
  return thread_count;
}

void set_num_threads(int count) {
  thread_count = count;
}

void run_parts(std::int64_t parts, void (*run)(const void* f, std::int64_t part), const void* f) {
  std::vector<std::thread> threads;
  for (std::int64_t part = 1; part < parts; ++part) threads.emplace_back(run, f, part);
  run(f, 0);
  for (std::thread& thread : threads) thread.join();
}
#endif

void survive_fork() {
#ifdef FLUIDCORE_WITH_OPENMP
  // Ends the pool of the thread that forks; parent and child start a new one when they need it.
  constexpr auto kEndPool = [] { omp_pause_resource_all(omp_pause_soft); };
  pthread_atfork(kEndPool, nullptr, nullptr);
#endif
  pthread_atfork(nullptr, nullptr, [] { ++forks(); });
}

std::uint64_t num_forks() {
  return forks().load(std::memory_order_relaxed);
}

}  // namespace fluidcore
