#pragma once

#include <cstdint>

namespace fluidcore {

class Communicator;

// What operators know of the run they are in.
struct RunState {
  std::uint64_t seed = 0;  // of the program, or drawn by the Executor when the program has none
  std::uint64_t step = 0;  // how often the Executor has run the program
  // Names one run of one sub-block within the run of the program; 0 in block 0.
  std::uint64_t block_run = 0;
  Communicator* communicator = nullptr;  // null: this process runs alone
  std::uint64_t rank = 0;                // of the communicator: each draws other numbers
};

// Names a sequence of random numbers: every operator has its own in every run, and in every step of
// a loop. A key and a counter for Philox: element i of an output uses the counter (i, offset()), on
// every device and thread count.
class RandomStream {
 public:
  RandomStream(const RunState* state, std::uint64_t stream, std::int64_t seed)
      : state_(state), stream_(stream), seed_(static_cast<std::uint64_t>(seed)) {}

  // An operator with a seed of its own gives the same numbers in every run of the program.
  std::uint64_t key() const {
    std::uint64_t seed = seed_ != 0 ? seed_ : state_->seed;
    if (state_->rank != 0) seed = mix(seed + mix(state_->rank));
    return state_->block_run == 0 ? seed : mix(seed ^ mix(state_->block_run));
  }
  std::uint64_t offset() const {
    // All ones is no operator's: a seed that is also the program's gives other numbers.
    return seed_ != 0 ? ~std::uint64_t{0} : (stream_ << 40) ^ (state_->step & 0xffffffffffull);
  }

 private:
  // One to one (the finalizer of SplitMix64): different runs of a block have different keys.
  static std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }

  const RunState* state_;
  std::uint64_t stream_;
  std::uint64_t seed_;
};

}  // namespace fluidcore
