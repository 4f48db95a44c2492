#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/launch.h"

namespace fluidcore::cuda {

// rows[i] = table[index[i]], zeros where the index is -1; `width` words each.
struct TakeRows {
  cpu::RowIndex index;
  std::int64_t width;

  template <class Index, class Word>
  FC_HOST_DEVICE void operator()(Index i, Word* rows, const Word* table) const {
    const std::int64_t row = index[i / width];
    rows[i] = row < 0 ? Word(0) : table[row * width + i % width];
  }
};

inline void take_rows(DeviceContext& device,
                      const cpu::IndexedRows& shape,
                      const cpu::RowIndex& index,
                      std::size_t element_bytes,
                      const void* table,
                      void* rows) {
  const auto run = [&](auto word) {
    using Word = decltype(word);
    const std::int64_t width = shape.width / static_cast<std::int64_t>(sizeof(Word));
    for_each(device, shape.count * width, TakeRows{index, width}, static_cast<Word*>(rows),
             static_cast<const Word*>(table));
  };
  switch (element_bytes) {
    case 2: return run(std::uint16_t{});
    case 4: return run(std::uint32_t{});
    default: return run(std::uint64_t{});
  }
}

// A group for each number of an index: the first one that names a row adds up, in order, what all
// that name it have. Takes time that grows with the square of their count, and needs no memory.
struct AddRows {
  cpu::RowIndex index;
  std::int64_t count;
  std::int64_t width;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t i,
                                 const T* rows,
                                 T* table) const {
    const std::int64_t row = index[i];
    if (row < 0) return;
    int is_later = 0;
    for (std::int64_t k = group.rank(); k < i && is_later == 0; k += group.size()) {
      if (index[k] == row) is_later = 1;
    }
    if (group.all(is_later, [](int a, int b) { return a | b; }) != 0) return;
    for (std::int64_t column = group.rank(); column < width; column += group.size()) {
      auto sum = static_cast<ComputeType<T>>(rows[i * width + column]);
      for (std::int64_t k = i + 1; k < count; ++k) {
        if (index[k] == row) sum += static_cast<ComputeType<T>>(rows[k * width + column]);
      }
      table[row * width + column] = static_cast<T>(sum);
    }
  }
};

// table = the sums of the rows that an index [count] names, zeros elsewhere.
template <class T>
void add_rows(DeviceContext& device,
              const cpu::IndexedRows& shape,
              const cpu::RowIndex& index,
              const T* rows,
              T* table) {
  device.zero(table, static_cast<std::size_t>(shape.extent * shape.width) * sizeof(T));
  for_each_group(device, shape.count, shape.width, AddRows{index, shape.count, shape.width}, rows,
                 table);
}

}  // namespace fluidcore::cuda
