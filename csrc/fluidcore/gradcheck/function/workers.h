#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// A Function for each of several workers: forks of one, or that one alone where it has no forks.
//
// There are as many workers as threads, but not more than blocks of work. The threads that are left
// over work within a block: num_threads() tells how many there are, and a large f uses them too.
class Workers {
 public:
  // `only` is for Function::fork(). Throws InvalidArgument unless `threads` is in [1, 1024].
  Workers(Function& function,
          std::optional<std::size_t> only,
          std::int64_t threads,
          std::int64_t blocks);

  std::size_t size() const { return forks_.empty() ? 1 : forks_.size(); }
  Function& function(std::size_t worker) const {
    return forks_.empty() ? original_ : *forks_[worker];
  }

  // Calls work(worker, begin, end) for blocks that cover [0, count): a worker gets its blocks in
  // order, and the calling thread is worker 0. After an exception no new block is begun, and the
  // exception of the first of the blocks that failed is thrown when all have ended.
  using Work = std::function<void(std::size_t worker, std::int64_t begin, std::int64_t end)>;
  void run(std::int64_t count, std::int64_t block, const Work& work) const;

 private:
  Function& original_;
  int threads_each_;
  std::vector<std::unique_ptr<Function>> forks_;
};

// How many elements are a block where each is moved by itself.
inline constexpr std::int64_t kElementsPerBlock = 16;

// Throws InvalidArgument unless a number of threads is in [1, 1024].
void check_workers(std::int64_t threads);

// Whether a run of f is worth more than one thread: it has many inputs, and they are float64. In
// other dtypes f may leave its kernels to a library that makes the number of threads part of the
// result.
bool is_large(const Function& function);

}  // namespace fluidcore::gradcheck
