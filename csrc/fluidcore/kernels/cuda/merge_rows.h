#pragma once

#include <cstdint>
#include <limits>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/cuda/sort.h"

namespace fluidcore::cuda {

// Rows that are named several times, added up: each row once, in rising order, and -1 behind them.
// Nobody counts how many there are.

inline constexpr std::uint64_t kNoRow = std::numeric_limits<std::uint64_t>::max();

struct RowKeys {
  template <class Index>
  FC_HOST_DEVICE void operator()(Index i,
                                 const std::int64_t* numbers,
                                 cpu::OrderedKey* keys) const {
    keys[i] = {numbers[i] < 0 ? kNoRow : static_cast<std::uint64_t>(numbers[i]), i};
  }
};

// Of sorted keys, the first one of each row, with its place among them.
struct FirstOfRows {
  template <class Index>
  FC_HOST_DEVICE void operator()(Index i,
                                 const cpu::OrderedKey* sorted,
                                 cpu::OrderedKey* firsts) const {
    const bool is_first = i == 0 || sorted[i].key != sorted[i - 1].key;
    firsts[i] = {is_first ? sorted[i].key : kNoRow, i};
  }
};

struct AddUpRows {
  std::int64_t count;
  std::int64_t width;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i,
                                 const cpu::OrderedKey* sorted,
                                 const cpu::OrderedKey* firsts,
                                 const T* values,
                                 std::int64_t* numbers,
                                 T* merged) const {
    const std::int64_t row = i / width;
    const std::int64_t column = i - row * width;
    const std::uint64_t key = firsts[row].key;
    if (column == 0) numbers[row] = key == kNoRow ? -1 : static_cast<std::int64_t>(key);
    ComputeType<T> sum = 0;
    for (std::int64_t k = firsts[row].place; key != kNoRow && k < count && sorted[k].key == key;
         ++k) {
      sum += static_cast<ComputeType<T>>(values[sorted[k].place * width + column]);
    }
    merged[i] = static_cast<T>(sum);
  }
};

// How many keys of memory merge_rows() needs.
inline std::int64_t merge_keys(std::int64_t count) {
  return 4 * count;
}

template <class T>
void merge_rows(DeviceContext& device,
                std::int64_t count,
                std::int64_t width,
                const std::int64_t* numbers,
                const T* values,
                cpu::OrderedKey* memory,
                std::int64_t* merged_numbers,
                T* merged) {
  for_each(device, count, RowKeys(), numbers, memory);
  const cpu::OrderedKey* const sorted = sort_keys(device, count, count, memory, memory + count);
  cpu::OrderedKey* const rest = memory + 2 * count;
  for_each(device, count, FirstOfRows(), sorted, rest);
  const cpu::OrderedKey* const firsts = sort_keys(device, count, count, rest, rest + count);
  for_each(device, count * width, AddUpRows{count, width}, sorted, firsts, values, merged_numbers,
           merged);
}

}  // namespace fluidcore::cuda
