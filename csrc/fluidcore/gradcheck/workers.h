#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fluidcore/gradcheck/function.h"

namespace fluidcore::gradcheck {

// A Function for each of several threads: forks of one, or that one alone where it has no forks.
class Workers {
 public:
  // At most `count` of them, at least one. Throws InvalidArgument unless count is in [1, 1024].
  Workers(Function& function, std::optional<std::size_t> only, std::int64_t count);

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
  std::vector<std::unique_ptr<Function>> forks_;
};

}  // namespace fluidcore::gradcheck
