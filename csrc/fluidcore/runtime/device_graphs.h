#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "fluidcore/runtime/prepared_block.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

// Runs block 0 of a Plan on a device. Neighbouring steps that only enqueue work are recorded once
// and replayed in later runs, as long as every variable is where it was then; see
// Kernel::enqueued().
class DeviceGraphs {
 public:
  // Both outlive this.
  DeviceGraphs(PreparedBlock& block, const std::deque<Cell>& cells);

  // As PreparedBlock::run(). The first run records nothing: what is made on first use is made
  // there.
  void run();

 private:
  struct Recording {
    std::vector<const void*> addresses;  // of all variables, before the steps
    std::unique_ptr<DeviceGraph> graph;
  };
  struct Segment {  // of steps, [first, last)
    std::size_t first;
    std::size_t last;
    std::deque<Recording> recordings;
  };

  // That of the variables where they are now, which may have no graph yet; null: there have been
  // too many.
  Recording* recording(Segment& segment) const;
  void run(Segment& segment);

  PreparedBlock& block_;
  const std::deque<Cell>& cells_;
  std::deque<Segment> segments_;
  bool is_first_ = true;
};

}  // namespace fluidcore
