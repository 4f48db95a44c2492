#pragma once

#include <cstdint>

namespace fluidcore {

// What random operators know of the run they are in.
struct RunState {
  std::uint64_t seed = 0;  // of the program, or drawn by the Executor when the program has none
  std::uint64_t step = 0;  // how often the Executor has run the program
};

// Names a sequence of random numbers: every operator has its own in every run. A key and a counter
// for Philox: element i of an output uses the counter (i, offset()), on every device and thread
// count.
class RandomStream {
 public:
  RandomStream(const RunState* state, std::uint64_t stream, std::int64_t seed)
      : state_(state), stream_(stream), seed_(static_cast<std::uint64_t>(seed)) {}

  // An operator with a seed of its own gives the same numbers in every run.
  std::uint64_t key() const { return seed_ != 0 ? seed_ : state_->seed; }
  std::uint64_t offset() const {
    // All ones is no operator's: a seed that is also the program's gives other numbers.
    return seed_ != 0 ? ~std::uint64_t{0} : (stream_ << 40) ^ (state_->step & 0xffffffffffull);
  }

 private:
  const RunState* state_;
  std::uint64_t stream_;
  std::uint64_t seed_;
};

}  // namespace fluidcore
