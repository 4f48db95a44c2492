#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fluidcore/base/shared_tasks.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/attention.h"
#include "fluidcore/kernels/cpu/gemm.h"

namespace fluidcore::cpu {

// What attention and its gradient have in common: tiles of the matrices of scores.

// Extents of a tile of scores: with the operands of its products it fits a second-level cache.
inline constexpr std::int64_t kTileQueries = 64;
inline constexpr std::int64_t kTileKeys = 128;

// A part of a dimension.
struct Range {
  std::int64_t first;
  std::int64_t count;

  std::int64_t last() const { return first + count; }
};

inline Range tile_of(std::int64_t size, std::int64_t tile, std::int64_t i) {
  return {i * tile, std::min(tile, size - i * tile)};
}

// One product of tiles, also for the tiles at the ends: `make` is given queries and keys of a tile.
template <class T>
class TileProduct {
 public:
  template <class Make>
  TileProduct(const Attention& a, const Make& make) {
    for (const std::int64_t queries : {kTileQueries, a.queries % kTileQueries}) {
      for (const std::int64_t keys : {kTileKeys, a.keys % kTileKeys}) {
        products_.push_back(make(queries, keys));
      }
    }
  }

  void operator()(
      Range queries, Range keys, const T* a, const T* b, T* c, bool accumulate, T* scratch) const {
    const std::size_t rest = queries.count == kTileQueries ? 0 : 2;
    products_[rest + (keys.count == kTileKeys ? 0 : 1)](a, b, c, accumulate, scratch);
  }

  std::size_t scratch_bytes() const {
    std::size_t most = 0;
    for (const Gemm<T>& product : products_) most = std::max(most, product.scratch_bytes());
    return most;
  }

 private:
  std::vector<Gemm<T>> products_;
};

inline std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// Workers, each with memory: numbers of its own, and that of a product.
template <class T>
class Workspace {
 public:
  Workspace(ScratchPtr scratch, std::int64_t tasks, std::int64_t numbers, std::size_t product)
      : scratch_(std::move(scratch)),
        workers_(std::clamp<std::int64_t>(tasks, 1, num_threads())),
        tasks_(tasks),
        numbers_bytes_(aligned(static_cast<std::size_t>(numbers) * sizeof(T))),
        stride_(numbers_bytes_ + aligned(product)) {
    scratch_->reserve(stride_ * static_cast<std::size_t>(workers_));
  }

  // f(task, numbers, memory of a product) for all tasks.
  template <class F>
  void run(const F& f) const {
    std::byte* const all = scratch_->data();
    parallel_workers(workers_, tasks_, [&](std::int64_t worker, const auto& next_task) {
      const ThreadCountScope alone(1);
      std::byte* const own = all + stride_ * static_cast<std::size_t>(worker);
      while (const std::optional<std::int64_t> task = next_task()) {
        f(*task, reinterpret_cast<T*>(own), reinterpret_cast<T*>(own + numbers_bytes_));
      }
    });
  }

 private:
  ScratchPtr scratch_;
  std::int64_t workers_;
  std::int64_t tasks_;
  std::size_t numbers_bytes_;
  std::size_t stride_;
};

template <class T>
T* mask_of(const Attention& a, T* mask, std::int64_t head) {
  if (mask == nullptr) return nullptr;
  return mask + head / a.heads * a.mask[0] + head % a.heads * a.mask[1];
}

// How many keys of the tile a query sees.
inline std::int64_t seen(const Attention& a, std::int64_t query, Range keys) {
  return a.causal ? std::clamp<std::int64_t>(query + 1 - keys.first, 0, keys.count) : keys.count;
}

// scores = scores scale + mask, of one query.
template <class T>
void finish_scores(const Attention& a,
                   std::int64_t query,
                   Range keys,
                   std::int64_t count,
                   const T* mask,
                   T* scores) {
  const auto scale = static_cast<T>(a.scale);
  if (mask == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) scores[i] *= scale;
    return;
  }
  const T* const terms = mask + query * a.mask[2] + keys.first * a.mask[3];
  for (std::int64_t i = 0; i < count; ++i) scores[i] = scores[i] * scale + terms[i * a.mask[3]];
}

}  // namespace fluidcore::cpu
