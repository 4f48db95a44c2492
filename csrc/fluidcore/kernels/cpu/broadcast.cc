#include "fluidcore/kernels/cpu/broadcast.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

namespace {

// One operand of a part of the output.
struct Operand {
  const std::byte* at(std::int64_t element) const { return data + (element - origin) * bytes; }
  // What a row of the output is made of, from `column` on.
  const std::byte* at(const BroadcastNest& nest, std::int64_t row, std::int64_t column) const {
    return at(nest.offset(index, row) + (streams ? column : 0));
  }

  std::size_t index = 0;
  const std::byte* data = nullptr;
  std::int64_t origin = 0;  // the element that is there
  std::int64_t bytes = 0;   // of an element
  bool is_full = false;
  bool streams = false;
};

// The elements of an operand for [begin, begin + size) of the output, one after the other; they
// have the size of a Word.
template <class Word>
void spread_words(const BroadcastNest& nest,
                  const Operand& operand,
                  std::int64_t begin,
                  std::int64_t size,
                  std::byte* to) {
  const auto* const data = reinterpret_cast<const Word*>(operand.data);
  auto* const words = reinterpret_cast<Word*>(to);
  for_row_pieces(nest, begin, size,
                 [&](std::int64_t at, std::int64_t count, std::int64_t row, std::int64_t column) {
                   const Word* const from =
                       data + (nest.offset(operand.index, row) - operand.origin);
                   if (operand.streams) {
                     std::copy_n(from + column, count, words + at);
                   } else {
                     std::fill_n(words + at, count, *from);
                   }
                 });
}

void spread(const BroadcastNest& nest,
            const Operand& operand,
            std::int64_t begin,
            std::int64_t size,
            std::byte* to) {
  switch (operand.bytes) {
    case 1: return spread_words<std::uint8_t>(nest, operand, begin, size, to);
    case 2: return spread_words<std::uint16_t>(nest, operand, begin, size, to);
    case 4: return spread_words<std::uint32_t>(nest, operand, begin, size, to);
    default: return spread_words<std::uint64_t>(nest, operand, begin, size, to);
  }
}

}  // namespace

BroadcastNest::BroadcastNest(const Shape& out, const std::vector<Shape>& operands)
    : size_(out.num_elements()), strides_(operands.size()) {
  for (const Shape& operand : operands) {
    is_full_.push_back(operand == out);
    std::size_t shared = 0;
    while (shared < out.rank() && operand[shared] == out[shared]) ++shared;
    rows_.push_back(out.product(0, shared));
  }
  // From the innermost dimension outwards, then turned around.
  std::vector<std::int64_t> next(operands.size(), 1);  // elements inside the current dimension
  for (std::size_t axis = out.rank(); axis-- > 0;) {
    if (out[axis] == 1) continue;
    bool merges = !extents_.empty();
    std::vector<std::int64_t> strides(operands.size());
    for (std::size_t k = 0; k < operands.size(); ++k) {
      strides[k] = operands[k][axis] == 1 ? 0 : next[k];
      next[k] *= operands[k][axis];
      merges = merges && strides[k] == strides_[k].back() * extents_.back();
    }
    if (merges) {
      extents_.back() *= out[axis];
      continue;
    }
    extents_.push_back(out[axis]);
    for (std::size_t k = 0; k < operands.size(); ++k) strides_[k].push_back(strides[k]);
  }
  if (extents_.empty()) {
    extents_.push_back(1);
    for (auto& strides : strides_) strides.push_back(1);
  }
  std::reverse(extents_.begin(), extents_.end());
  for (auto& strides : strides_) std::reverse(strides.begin(), strides.end());
}

std::int64_t BroadcastNest::offset(std::size_t operand, std::int64_t row) const {
  if (extents_.size() == 1) return 0;
  const std::vector<std::int64_t>& strides = strides_[operand];
  std::int64_t offset = 0;
  for (std::size_t axis = extents_.size() - 2; axis > 0; --axis) {
    const std::int64_t outer = row / extents_[axis];
    offset += (row - outer * extents_[axis]) * strides[axis];
    row = outer;
  }
  return offset + row * strides[0];
}

void broadcast_part(const BroadcastNest& nest,
                    const StreamFormula& formula,
                    std::int64_t begin,
                    std::int64_t size,
                    void* out,
                    const BroadcastOperand* in) {
  const Isa isa = cpu_isa();
  std::array<Operand, kMostStreams> operands{};
  for (std::size_t k = 0; k < formula.arity; ++k) {
    operands[k] = {k,
                   static_cast<const std::byte*>(in[k].data),
                   in[k].origin,
                   formula.in[k]->bytes,
                   nest.is_full(k),
                   nest.streams(k)};
  }
  std::array<Stream, kMostStreams> streams{};
  const auto to = [&](std::int64_t at) {
    return static_cast<std::byte*>(out) + at * formula.out->bytes;
  };
  if (nest.row() >= kTile) {
    for_row_pieces(nest, begin, size,
                   [&](std::int64_t at, std::int64_t count, std::int64_t row, std::int64_t column) {
                     for (std::size_t k = 0; k < formula.arity; ++k) {
                       const Operand& from = operands[k];
                       streams[k] = from.is_full
                                        ? Stream{from.at(begin + at)}
                                        : Stream{from.at(nest, row, column), !from.streams};
                     }
                     calculate_row(isa, formula, count, to(at), streams.data());
                   });
    return;
  }
  // Many short rows at once, as many as a tile holds.
  alignas(64) std::array<TileMemory, kMostStreams> tiles;
  for (std::int64_t at = 0; at < size; at += kTile) {
    const std::int64_t count = std::min(kTile, size - at);
    for (std::size_t k = 0; k < formula.arity; ++k) {
      const Operand& from = operands[k];
      if (!from.is_full) spread(nest, from, begin + at, count, tiles[k].data());
      streams[k] = {from.is_full ? from.at(begin + at) : tiles[k].data()};
    }
    calculate_row(isa, formula, count, to(at), streams.data());
  }
}

void run_broadcast(const BroadcastNest& nest,
                   const StreamFormula& formula,
                   void* out,
                   const void* const* in) {
  std::array<BroadcastOperand, kMostStreams> operands{};
  for (std::size_t k = 0; k < formula.arity; ++k) operands[k].data = in[k];
  parallel_for(nest.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    auto* const to = static_cast<std::byte*>(out) + begin * formula.out->bytes;
    broadcast_part(nest, formula, begin, end - begin, to, operands.data());
  });
}

}  // namespace fluidcore::cpu
