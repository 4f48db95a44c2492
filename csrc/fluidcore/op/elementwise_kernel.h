#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "fluidcore/op/cell.h"

namespace fluidcore {

// A map of elements: element i of `out` is made of elements i of `streams`, which have as many, and
// of any elements of `whole`.
struct ElementwisePart {
  static constexpr std::size_t kMostStreams = 64;

  // Elements [begin, begin + size) of `out`; the pointers are to element `begin` of each.
  using Run = std::function<void(
      std::int64_t begin, std::int64_t size, void* out, const void* const* streams)>;

  const Cell* out = nullptr;
  std::vector<const Cell*> streams = {};
  std::vector<const Cell*> whole = {};
  Run run = nullptr;
};

// Parts that run one after the other, tile by tile, so that what one writes and the next reads
// stays in the cache. Several threads share the elements; which of them calculates an element
// changes no bit of it.
class ElementwiseKernel {
 public:
  ElementwiseKernel() = default;  // has no part and does nothing
  // The outputs of all parts have one number of elements. What one part reads as a whole no other
  // part writes. The variables `inner` are written before they are read, and nobody else reads
  // them: as many as there is room for get no memory but that of a tile.
  explicit ElementwiseKernel(std::vector<ElementwisePart> parts,
                             const std::set<const Cell*>& inner = {});

  void run() const;

  const std::vector<ElementwisePart>& parts() const { return parts_; }
  const std::set<const Cell*>& inner() const { return inner_; }  // those that need no memory

 private:
  static constexpr std::size_t kTiles = 8;
  static constexpr std::size_t kTileBytes = 8192;
  static constexpr std::size_t kInMemory = kTiles;

  struct Operand {
    const Cell* cell;
    std::size_t element_bytes;
    std::size_t tile;  // or kInMemory
  };
  struct Operands {
    Operand out;
    std::vector<Operand> streams;
  };
  struct Tiles {
    alignas(64) std::array<std::array<std::byte, kTileBytes>, kTiles> bytes;
  };

  static std::byte* data(const Operand& operand, std::int64_t begin, Tiles* tiles);
  void run_parts(std::int64_t begin, std::int64_t size, Tiles* tiles) const;

  std::vector<ElementwisePart> parts_;
  std::vector<Operands> operands_;  // of each part
  std::set<const Cell*> inner_;
  std::int64_t size_ = 0;
  std::int64_t tile_size_ = 0;  // elements
};

}  // namespace fluidcore
