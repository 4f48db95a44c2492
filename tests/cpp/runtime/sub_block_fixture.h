#pragma once

#include <vector>

#include "runtime/executor_fixture.h"

namespace fluidcore {

// Programs whose operators run blocks.
class SubBlockTest : public ExecutorTest {
 protected:
  SubBlockTest() {
    declare("n", {1}, false);
    declare("x", {2}, false);
  }
  // A loop that runs `n` times: the block counts it down.
  std::int64_t add_loop() {
    const std::int64_t block = new_block(0);
    add_while(0, "n", block);
    return block;
  }
  NamedTensors feeds(float n, std::vector<float> x) { return {{"n", make({n})}, {"x", make(x)}}; }
};

}  // namespace fluidcore
