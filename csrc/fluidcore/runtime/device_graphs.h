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

  std::size_t replayed() const { return replayed_; }  // runs

 private:
  struct Segment {  // of steps, [first, last)
    std::size_t first;
    std::size_t last;
  };
  struct Recording {
    std::vector<const void*> addresses;                // of all variables
    std::vector<std::unique_ptr<DeviceGraph>> graphs;  // of the segments
  };

  std::vector<const void*> addresses() const;
  // That of the variables where they are now, which may have no graph yet; null: there have been
  // too many.
  Recording* recording();
  void run_segment(const Segment& segment, std::unique_ptr<DeviceGraph>& graph);

  PreparedBlock& block_;
  const std::deque<Cell>& cells_;
  std::vector<Segment> segments_;
  std::deque<Recording> recordings_;
  bool is_first_ = true;
  std::size_t replayed_ = 0;
};

}  // namespace fluidcore
