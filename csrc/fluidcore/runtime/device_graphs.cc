#include "fluidcore/runtime/device_graphs.h"

#include <utility>

namespace fluidcore {

namespace {

// Where a run finds its variables alternates between a few places, such as those of a value and of
// its copy; more than so many, and every run may have its own.
constexpr std::size_t kMostRecordings = 8;
constexpr std::size_t kLeastSteps = 2;  // that are worth a graph

}  // namespace

DeviceGraphs::DeviceGraphs(PreparedBlock& block, const std::deque<Cell>& cells)
    : block_(block), cells_(cells) {
  std::size_t first = 0;
  const auto end_at = [&](std::size_t last) {
    if (last - first >= kLeastSteps) segments_.push_back({first, last, {}});
    first = last + 1;
  };
  for (std::size_t i = 0; i < block_.steps.size(); ++i) {
    if (!block_.steps[i].kernel.is_enqueued()) end_at(i);
  }
  end_at(block_.steps.size());
}

DeviceGraphs::Recording* DeviceGraphs::recording(Segment& segment) const {
  std::vector<const void*> now;
  now.reserve(cells_.size());
  for (const Cell& cell : cells_) now.push_back(cell.data);
  for (Recording& one : segment.recordings) {
    if (one.addresses == now) return &one;
  }
  if (segment.recordings.size() == kMostRecordings) return nullptr;
  return &segment.recordings.emplace_back(Recording{std::move(now), nullptr});
}

void DeviceGraphs::run(Segment& segment) {
  // Nobody else does so where the steps are replayed.
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    for (const View& view : block_.steps[i].views) view.point();
  }
  Recording* const found = recording(segment);
  if (found == nullptr) return block_.run(segment.first, segment.last);
  for (std::size_t i = segment.first; i < segment.last; ++i) block_.check(i);
  if (!found->graph) {
    DeviceContext& device = *block_.watch->device;
    device.begin_capture();
    try {
      for (std::size_t i = segment.first; i < segment.last; ++i) block_.steps[i].kernel.work();
    } catch (...) {
      device.end_capture();
      throw;
    }
    found->graph = device.end_capture();
  }
  found->graph->launch();
  std::int64_t work = 0;
  for (std::size_t i = segment.first; i < segment.last; ++i) work += block_.steps[i].work;
  block_.watch->lookout.add(work);
}

void DeviceGraphs::run() {
  if (std::exchange(is_first_, false)) return block_.run();
  std::size_t next = 0;
  for (Segment& segment : segments_) {
    block_.run(next, segment.first);
    run(segment);
    next = segment.last;
  }
  block_.run(next, block_.steps.size());
}

}  // namespace fluidcore
