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
    if (last - first >= kLeastSteps) segments_.push_back({first, last});
    first = last + 1;
  };
  for (std::size_t i = 0; i < block_.steps.size(); ++i) {
    if (!block_.steps[i].kernel.is_enqueued()) end_at(i);
  }
  end_at(block_.steps.size());
}

std::vector<const void*> DeviceGraphs::addresses() const {
  std::vector<const void*> all;
  all.reserve(cells_.size());
  for (const Cell& cell : cells_) all.push_back(cell.data);
  return all;
}

DeviceGraphs::Recording* DeviceGraphs::recording() {
  std::vector<const void*> now = addresses();
  for (Recording& one : recordings_) {
    if (one.addresses == now) return &one;
  }
  if (recordings_.size() == kMostRecordings) return nullptr;
  Recording& made = recordings_.emplace_back(Recording{std::move(now), {}});
  made.graphs.resize(segments_.size());
  return &made;
}

void DeviceGraphs::run_segment(const Segment& segment, std::unique_ptr<DeviceGraph>& graph) {
  for (std::size_t i = segment.first; i < segment.last; ++i) block_.check(i);
  if (!graph) {
    DeviceContext& device = *block_.watch->device;
    device.begin_capture();
    try {
      for (std::size_t i = segment.first; i < segment.last; ++i) block_.steps[i].kernel.work();
    } catch (...) {
      device.end_capture();
      throw;
    }
    graph = device.end_capture();
  }
  graph->launch();
  std::int64_t work = 0;
  for (std::size_t i = segment.first; i < segment.last; ++i) work += block_.steps[i].work;
  block_.watch->lookout.add(work);
}

void DeviceGraphs::run() {
  Recording* const found =
      std::exchange(is_first_, false) || segments_.empty() ? nullptr : recording();
  if (found == nullptr) return block_.run();
  std::size_t next = 0;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    block_.run(next, segments_[s].first);
    run_segment(segments_[s], found->graphs[s]);
    next = segments_[s].last;
  }
  block_.run(next, block_.steps.size());
  ++replayed_;
}

}  // namespace fluidcore
