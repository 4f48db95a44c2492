#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/sort.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/ordered_key.h"

// Orders along the middle dimension of tensors [outer, count, inner]; see kernels/cpu/sort.h and
// order.h.

namespace fluidcore::cuda {

// The keys of each sequence beside each other.
struct MakeKeys {
  cpu::OrderedDim dim;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, cpu::OrderedKey* keys) const {
    using C = ComputeType<T>;
    using Key = KeyBits<sizeof(C)>;
    const std::int64_t sequence = i / dim.count;
    const std::int64_t place = i - sequence * dim.count;
    const std::int64_t outer = sequence / dim.inner;
    const std::int64_t column = sequence - outer * dim.inner;
    const auto key =
        ordered_key(static_cast<C>(x[(outer * dim.count + place) * dim.inner + column]));
    keys[i] = {dim.descending ? static_cast<Key>(~key) : key, place};
  }
};

// Merges pairs of sorted runs of `width` keys: each key looks for its place among those of the
// other run. Equal ones stay in their order.
struct MergeRuns {
  std::int64_t count;
  std::int64_t width;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, const cpu::OrderedKey* from, cpu::OrderedKey* to) const {
    const std::int64_t sequence = i / count * count;
    const std::int64_t at = i - sequence;
    const std::int64_t first = at / (2 * width) * (2 * width);
    const std::int64_t middle = first + width < count ? first + width : count;
    const std::int64_t end = middle + width < count ? middle + width : count;
    const bool is_left = at < middle;
    const cpu::OrderedKey* const keys = from + sequence;
    std::int64_t low = is_left ? middle : first;
    std::int64_t high = is_left ? end : middle;
    const std::int64_t begin = low;
    while (low < high) {  // the first one that comes after this key
      const std::int64_t probe = low + (high - low) / 2;
      const bool comes_before =
          is_left ? keys[probe].key < keys[at].key : keys[probe].key <= keys[at].key;
      if (comes_before) {
        low = probe + 1;
      } else {
        high = probe;
      }
    }
    to[sequence + first + (at - (is_left ? first : middle)) + (low - begin)] = keys[at];
  }
};

// indices [outer, k, inner]: the first k places of each sequence.
struct WritePlaces {
  std::int64_t count;
  std::int64_t k;
  std::int64_t inner;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i,
                                 const cpu::OrderedKey* keys,
                                 std::int64_t* indices) const {
    const std::int64_t column = i % inner;
    const std::int64_t rank = i / inner % k;
    const std::int64_t outer = i / inner / k;
    indices[i] = keys[(outer * inner + column) * count + rank].place;
  }
};

// Sorts each `count` of `size` keys; gives the one of the two memories that has them then.
inline cpu::OrderedKey* sort_keys(DeviceContext& device,
                                  std::int64_t size,
                                  std::int64_t count,
                                  cpu::OrderedKey* keys,
                                  cpu::OrderedKey* other) {
  for (std::int64_t width = 1; width < count; width *= 2) {
    for_each(device, size, MergeRuns{count, width}, static_cast<const cpu::OrderedKey*>(keys),
             other);
    std::swap(keys, other);
  }
  return keys;
}

// How many keys of memory sort_indices() needs.
inline std::int64_t keys_to_sort(const cpu::OrderedDim& dim) {
  return 2 * dim.outer * dim.count * dim.inner;
}

// indices [outer, k, inner]: where the elements that come first are in x.
inline void sort_indices(DeviceContext& device,
                         const cpu::OrderedDim& dim,
                         std::int64_t k,
                         DType dtype,
                         const void* x,
                         cpu::OrderedKey* memory,
                         std::int64_t* indices) {
  const std::int64_t size = dim.outer * dim.count * dim.inner;
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each(device, size, MakeKeys{dim}, static_cast<const T*>(x), memory);
  });
  const cpu::OrderedKey* const sorted = sort_keys(device, size, dim.count, memory, memory + size);
  for_each(device, dim.outer * k * dim.inner, WritePlaces{dim.count, k, dim.inner}, sorted,
           indices);
}

// indices [outer, inner]: as cpu::find_first().
struct FindFirst {
  cpu::OrderedDim dim;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* x, std::int64_t* indices) const {
    using C = ComputeType<T>;
    const std::int64_t outer = i / dim.inner;
    const T* const from = x + outer * dim.count * dim.inner + (i - outer * dim.inner);
    std::int64_t found = 0;
    C best = static_cast<C>(from[0]);
    for (std::int64_t place = 1; place < dim.count; ++place) {
      const C value = static_cast<C>(from[place * dim.inner]);
      const bool is_first_nan =
          value != value && best == best;  // NOLINT(misc-redundant-expression)
      if (is_first_nan || (dim.descending ? value > best : value < best)) {
        best = value;
        found = place;
      }
    }
    indices[i] = found;
  }
};

}  // namespace fluidcore::cuda
