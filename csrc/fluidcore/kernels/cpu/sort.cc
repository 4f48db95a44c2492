#include "fluidcore/kernels/cpu/sort.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/ordered_key.h"

namespace fluidcore::cpu {

namespace {

// Rows are divided into at most so many parts, each with memory of its own.
constexpr std::int64_t kParts = 32;
constexpr std::int64_t kGrainElements = 1024;  // of a part that is worth a thread

std::int64_t parts_of(std::int64_t rows) {
  return std::min(rows, kParts);
}

// Calls f(part, row) for all rows.
template <class F>
void for_parts(std::int64_t rows, std::int64_t row_elements, const F& f) {
  const std::int64_t parts = parts_of(rows);
  if (parts == 0) return;
  const std::int64_t grain =
      kGrainElements / std::max<std::int64_t>(rows / parts * row_elements, 1);
  parallel_for(parts, grain + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t last = rows * (part + 1) / parts;
      for (std::int64_t row = rows * part / parts; row < last; ++row) f(part, row);
    }
  });
}

// The keys of `count` <= kTile elements, `stride` apart, turned around if `descending`; how many
// bytes of them count.
std::size_t write_keys(DType dtype,
                       const void* x,
                       std::int64_t first,
                       std::int64_t stride,
                       std::int64_t count,
                       bool descending,
                       std::uint64_t* keys) {
  return visit_dtype(dtype, [=](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    using Key = KeyBits<sizeof(C)>;
    const T* const from = static_cast<const T*>(x) + first;
    const Key mask = descending ? static_cast<Key>(~Key{0}) : Key{0};
    const auto key = [=](T element) {
      return static_cast<Key>(ordered_key(static_cast<C>(element)) ^ mask);
    };
    if (stride == 1) {
      run_on(cpu_isa(), [=] {
        const auto own = key;  // a store to keys cannot change it
        const std::int64_t size = count;
#pragma GCC ivdep
        for (std::int64_t i = 0; i < size; ++i) keys[i] = own(from[i]);
      });
    } else {
      for (std::int64_t i = 0; i < count; ++i) keys[i] = key(from[i * stride]);
    }
    return sizeof(C);
  });
}

bool comes_first(const OrderedKey& a, const OrderedKey& b) {
  return a.key != b.key ? a.key < b.key : a.place < b.place;
}

// By one byte after the other, the least first, which keeps the order of equal ones. Gives the
// memory that has the sorted keys.
OrderedKey* sort_by_bytes(std::size_t bytes, std::int64_t count, OrderedKey* keys, OrderedKey* to) {
  constexpr std::size_t kValues = 256;
  std::array<std::array<std::int64_t, kValues>, sizeof(std::uint64_t)> places;
  for (std::size_t byte = 0; byte < bytes; ++byte) places[byte].fill(0);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      ++places[byte][(keys[i].key >> (8 * byte)) % kValues];
    }
  }
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    std::int64_t before = 0;
    std::int64_t most = 0;
    for (std::int64_t& place : places[byte]) {
      most = std::max(most, place);
      before += std::exchange(place, before);
    }
    if (most == count) continue;  // all are alike
    for (std::int64_t i = 0; i < count; ++i) {
      to[places[byte][(keys[i].key >> (8 * byte)) % kValues]++] = keys[i];
    }
    std::swap(keys, to);
  }
  return keys;
}

// Puts a key in the place of the greatest of a heap.
void replace_top(OrderedKey* heap, std::int64_t size, OrderedKey key) {
  std::int64_t at = 0;
  for (std::int64_t child = 1; child < size; child = 2 * at + 1) {
    if (child + 1 < size && comes_first(heap[child], heap[child + 1])) ++child;
    if (comes_first(heap[child], key)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = key;
}

// The first place from `at` on with a key below `limit`; size if there is none.
std::int64_t first_below(std::uint64_t limit,
                         const std::uint64_t* keys,
                         std::int64_t at,
                         std::int64_t size) {
  constexpr std::int64_t kBlock = 16;
  run_on(cpu_isa(), [&at, limit, keys, size] {
    int is_below = 0;
    for (; at + kBlock <= size; at += kBlock) {
      for (std::int64_t i = at; i < at + kBlock; ++i) is_below |= keys[i] < limit ? 1 : 0;
      if (is_below != 0) return;
    }
  });
  while (at < size && keys[at] >= limit) ++at;
  return at;
}

}  // namespace

std::int64_t sort_keys(const OrderedDim& dim) {
  return 2 * dim.count * parts_of(dim.outer * dim.inner);
}

void sort_indices(
    const OrderedDim& dim, DType dtype, const void* x, OrderedKey* memory, std::int64_t* indices) {
  constexpr std::int64_t kFew = 128;
  const std::int64_t count = dim.count;
  if (count == 0) return;
  for_parts(dim.outer * dim.inner, count, [&](std::int64_t part, std::int64_t column) {
    const std::int64_t first = column / dim.inner * count * dim.inner + column % dim.inner;
    OrderedKey* keys = memory + 2 * part * count;
    std::size_t bytes = 0;
    std::array<std::uint64_t, kTile> tile;
    for (std::int64_t begin = 0; begin < count; begin += kTile) {
      const std::int64_t size = std::min(kTile, count - begin);
      bytes = write_keys(dtype, x, first + begin * dim.inner, dim.inner, size, dim.descending,
                         tile.data());
      for (std::int64_t i = 0; i < size; ++i) keys[begin + i] = {tile[i], begin + i};
    }
    if (count < kFew) {
      std::sort(keys, keys + count, comes_first);
    } else {
      keys = sort_by_bytes(bytes, count, keys, keys + count);
    }
    for (std::int64_t i = 0; i < count; ++i) indices[first + i * dim.inner] = keys[i].place;
  });
}

std::int64_t top_keys(std::int64_t rows, std::int64_t k) {
  return k * parts_of(rows);
}

void find_greatest(std::int64_t rows,
                   std::int64_t width,
                   std::int64_t k,
                   DType dtype,
                   const void* x,
                   OrderedKey* memory,
                   std::int64_t* indices) {
  for_parts(rows, width, [&](std::int64_t part, std::int64_t row) {
    // The least keys of the elements turned around: a heap with the greatest of them on top.
    OrderedKey* const best = memory + part * k;
    std::int64_t found = 0;
    std::array<std::uint64_t, kTile> keys;
    for (std::int64_t begin = 0; begin < width; begin += kTile) {
      const std::int64_t size = std::min(kTile, width - begin);
      write_keys(dtype, x, row * width + begin, 1, size, true, keys.data());
      std::int64_t at = 0;
      for (; at < size && found < k; ++at) {
        best[found++] = {keys[at], begin + at};
        if (found == k) std::make_heap(best, best + k, comes_first);
      }
      while ((at = first_below(best->key, keys.data(), at, size)) < size) {
        replace_top(best, k, {keys[at], begin + at});
        ++at;
      }
    }
    std::sort_heap(best, best + k, comes_first);
    for (std::int64_t i = 0; i < k; ++i) indices[row * k + i] = best[i].place;
  });
}

}  // namespace fluidcore::cpu
