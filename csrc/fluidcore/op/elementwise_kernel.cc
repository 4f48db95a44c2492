#include "fluidcore/op/elementwise_kernel.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/threads.h"

namespace fluidcore {

namespace {

constexpr std::int64_t kGrain = 16384;  // elements of one part that are worth a thread of their own

// Which of so many tiles are free, as parts begin to use variables and end to.
class FreeTiles {
 public:
  explicit FreeTiles(std::size_t count) {
    for (std::size_t tile = count; tile-- > 0;) free_.push_back(tile);
  }
  bool empty() const { return free_.empty(); }
  std::size_t take() {
    const std::size_t tile = free_.back();
    free_.pop_back();
    return tile;
  }
  void give_back(std::size_t tile) { free_.push_back(tile); }

 private:
  std::vector<std::size_t> free_;
};

std::map<const Cell*, std::size_t> last_uses(const std::vector<ElementwisePart>& parts) {
  std::map<const Cell*, std::size_t> last;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    last[parts[i].out] = i;
    for (const Cell* cell : parts[i].streams) last[cell] = i;
  }
  return last;
}

}  // namespace

ElementwiseKernel::ElementwiseKernel(std::vector<ElementwisePart> parts,
                                     const std::set<const Cell*>& inner)
    : parts_(std::move(parts)) {
  if (parts_.empty()) return;
  size_ = parts_[0].out->spec.shape.num_elements();
  const std::map<const Cell*, std::size_t> last = last_uses(parts_);
  std::map<const Cell*, std::size_t> tiles;
  FreeTiles free(kTiles);
  std::size_t widest = sizeof(float);
  const auto operand = [&](const Cell* cell) {
    const std::size_t bytes = size_of(cell->spec.dtype);
    widest = std::max(widest, bytes);
    const auto tile = tiles.find(cell);
    return Operand{cell, bytes, tile == tiles.end() ? kInMemory : tile->second};
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const ElementwisePart& part = parts_[i];
    if (inner.contains(part.out) && !tiles.contains(part.out) && !free.empty()) {
      tiles.emplace(part.out, free.take());
      inner_.insert(part.out);
    }
    Operands& operands = operands_.emplace_back(Operands{operand(part.out), {}});
    for (const Cell* cell : part.streams) operands.streams.push_back(operand(cell));
    for (auto used = tiles.begin(); used != tiles.end();) {
      const bool is_done = last.at(used->first) == i;
      if (is_done) free.give_back(used->second);
      used = is_done ? tiles.erase(used) : std::next(used);
    }
  }
  tile_size_ = static_cast<std::int64_t>(kTileBytes / widest);
}

std::byte* ElementwiseKernel::data(const Operand& operand, std::int64_t begin, Tiles* tiles) {
  if (operand.tile != kInMemory) return tiles->bytes[operand.tile].data();
  return static_cast<std::byte*>(operand.cell->data) +
         begin * static_cast<std::int64_t>(operand.element_bytes);
}

void ElementwiseKernel::run_parts(std::int64_t begin, std::int64_t size, Tiles* tiles) const {
  std::array<const void*, ElementwisePart::kMostStreams> streams;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Operands& operands = operands_[i];
    for (std::size_t k = 0; k < operands.streams.size(); ++k) {
      streams[k] = data(operands.streams[k], begin, tiles);
    }
    parts_[i].run(begin, size, data(operands.out, begin, tiles), streams.data());
  }
}

void ElementwiseKernel::run() const {
  if (parts_.size() == 1) {
    parallel_for(size_, kGrain, [this](std::int64_t begin, std::int64_t end) {
      run_parts(begin, end - begin, nullptr);
    });
    return;
  }
  const std::int64_t grain = kGrain / static_cast<std::int64_t>(parts_.size() + 1) + 1;
  parallel_for(size_, grain, [this](std::int64_t begin, std::int64_t end) {
    Tiles tiles;
    for (; begin < end; begin += tile_size_) {
      run_parts(begin, std::min(tile_size_, end - begin), &tiles);
    }
  });
}

}  // namespace fluidcore
