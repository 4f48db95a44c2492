#include "fluidcore/runtime/passes/arena.h"

#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/base/error.h"

namespace fluidcore {

namespace {

constexpr std::size_t kAlignment = 64;

// The free parts of a block that grows at its end.
class FreeList {
 public:
  std::size_t take(std::size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *fit;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(std::size_t offset, std::size_t bytes) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    if (const auto after = by_offset_.find(offset + bytes); after != by_offset_.end()) {
      const std::size_t size = after->second;
      remove(offset + bytes, size);
      bytes += size;
    }
    add(offset, bytes);
  }

  std::size_t end() const { return end_; }

 private:
  // A free part at the end is used before the block grows.
  std::size_t grow(std::size_t bytes) {
    std::size_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        remove(last, size);
      }
    }
    require(!__builtin_add_overflow(offset, bytes, &end_),
            "plan: the temporaries must fit in memory");
    return offset;
  }
  void add(std::size_t offset, std::size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::size_t offset, std::size_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::size_t, std::size_t> by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
  std::size_t end_ = 0;
};

}  // namespace

ArenaLayout lay_out(const std::vector<Lifetime>& lifetimes) {
  using Ending = std::pair<std::size_t, std::size_t>;  // last step, index of the lifetime
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  FreeList free;
  ArenaLayout layout;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const auto size = [&](std::size_t which) {
      return round_up(lifetimes[which].bytes, kAlignment);
    };
    while (!alive.empty() && alive.top().first < lifetimes[i].first) {
      const std::size_t dead = alive.top().second;
      alive.pop();
      if (size(dead) > 0) free.give_back(layout.offsets[dead], size(dead));
    }
    layout.offsets.push_back(size(i) > 0 ? free.take(size(i)) : 0);
    alive.emplace(lifetimes[i].last, i);
  }
  layout.bytes = free.end();
  return layout;
}

}  // namespace fluidcore
