#pragma once

#include <cstddef>
#include <cstdint>

#include "fluidcore/base/dtype.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/cuda/map.h"
#include "fluidcore/kernels/cuda/words.h"

// Rows that an index names in a table; see cpu::IndexedRows. The index is in the device's memory
// and has been checked.

namespace fluidcore::cuda {

// Where number `i` of list `outer` is in the index.
FC_HOST_DEVICE inline std::int64_t place_in_index(const cpu::IndexedRows& shape,
                                                  std::int64_t outer,
                                                  std::int64_t i) {
  return shape.own_index ? outer * shape.count + i : i;
}

// rows[o, i] = table[o, index[i]], zeros where the index is -1; shape.width counts words.
struct TakeRows {
  cpu::IndexedRows shape;
  cpu::RowIndex index;

  template <class Index, class Word>
  FC_HOST_DEVICE void operator()(Index i, Word* rows, const Word* table) const {
    const std::int64_t number = i / shape.width;
    const std::int64_t outer = number / shape.count;
    const std::int64_t row = index[place_in_index(shape, outer, number - outer * shape.count)];
    rows[i] = row < 0
                  ? Word(0)
                  : table[(outer * shape.extent + row) * shape.width + i - number * shape.width];
  }
};

inline void take_rows(DeviceContext& device,
                      cpu::IndexedRows shape,
                      const cpu::RowIndex& index,
                      std::size_t element_bytes,
                      const void* table,
                      void* rows) {
  shape.width /= static_cast<std::int64_t>(element_bytes);
  visit_word(element_bytes, [&](auto word) {
    using Word = decltype(word);
    for_each(device, shape.outer * shape.count * shape.width, TakeRows{shape, index},
             static_cast<Word*>(rows), static_cast<const Word*>(table));
  });
}

// A group for each number of an index: the first one that names a row adds up, in order, what all
// that name it have. Takes time that grows with the square of their count, and needs no memory.
struct AddRows {
  cpu::IndexedRows shape;
  cpu::RowIndex index;

  template <class T>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t number,
                                 const T* rows,
                                 T* table) const {
    const std::int64_t outer = number / shape.count;
    const std::int64_t i = number - outer * shape.count;
    const std::int64_t list = place_in_index(shape, outer, 0);
    const std::int64_t row = index[list + i];
    if (row < 0) return;
    int is_later = 0;
    for (std::int64_t k = group.rank(); k < i && is_later == 0; k += group.size()) {
      if (index[list + k] == row) is_later = 1;
    }
    if (group.all(is_later, [](int a, int b) { return a | b; }) != 0) return;
    const T* const from = rows + outer * shape.count * shape.width;
    T* const to = table + (outer * shape.extent + row) * shape.width;
    for (std::int64_t column = group.rank(); column < shape.width; column += group.size()) {
      auto sum = static_cast<ComputeType<T>>(to[column]);
      for (std::int64_t k = i; k < shape.count; ++k) {
        if (index[list + k] == row) {
          sum += static_cast<ComputeType<T>>(from[k * shape.width + column]);
        }
      }
      to[column] = static_cast<T>(sum);
    }
  }
};

// The same by element of the table: each looks at all numbers of its column.
struct AddRowsToElement {
  cpu::IndexedRows shape;
  cpu::RowIndex index;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, const T* rows, T* table) const {
    const std::int64_t to = i / shape.width;
    const std::int64_t outer = to / shape.extent;
    const std::int64_t row = to - outer * shape.extent;
    const std::int64_t list = place_in_index(shape, outer, 0);
    const T* const from = rows + outer * shape.count * shape.width + i - to * shape.width;
    auto sum = static_cast<ComputeType<T>>(table[i]);
    for (std::int64_t k = row % index.columns; k < shape.count; k += index.columns) {
      if (index[list + k] == row) sum += static_cast<ComputeType<T>>(from[k * shape.width]);
    }
    table[i] = static_cast<T>(sum);
  }
};

// table += the rows, each where the index says, in order.
template <class T>
void add_rows_to(DeviceContext& device,
                 const cpu::IndexedRows& shape,
                 const cpu::RowIndex& index,
                 const T* rows,
                 T* table) {
  if (index.columns > 1 || shape.extent < shape.count) {
    for_each(device, shape.outer * shape.extent * shape.width, AddRowsToElement{shape, index}, rows,
             table);
  } else {
    for_each_group(device, shape.outer * shape.count, shape.width, AddRows{shape, index}, rows,
                   table);
  }
}

// table = the sums of the rows that an index names, zeros elsewhere.
template <class T>
void add_rows(DeviceContext& device,
              const cpu::IndexedRows& shape,
              const cpu::RowIndex& index,
              const T* rows,
              T* table) {
  device.zero(table,
              static_cast<std::size_t>(shape.outer * shape.extent * shape.width) * sizeof(T));
  add_rows_to(device, shape, index, rows, table);
}

// Selected rows: their values, zeros where the index names no row, and the numbers of the rows.
struct SelectRows {
  cpu::RowIndex index;
  std::int64_t width;

  template <class Index, class Word>
  FC_HOST_DEVICE void operator()(Index i, const Word* from, Word* values) const {
    values[i] = index[i / width] < 0 ? Word(0) : from[i];
  }
};
struct NumberRows {
  cpu::RowIndex index;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, std::int64_t* numbers) const {
    numbers[i] = index[i];
  }
};

inline void select_rows(DeviceContext& device,
                        const cpu::RowIndex& index,
                        std::int64_t count,
                        std::int64_t width,
                        std::size_t element_bytes,
                        const void* from,
                        void* values,
                        std::int64_t* numbers) {
  visit_word(element_bytes, [&](auto word) {
    using Word = decltype(word);
    for_each(device, count * width, SelectRows{index, width}, static_cast<const Word*>(from),
             static_cast<Word*>(values));
  });
  for_each(device, count, NumberRows{index}, numbers);
}

// Which part of a table each position of some axes names: the index has one number for each axis.
struct PartNumbers {
  static constexpr std::size_t kMostAxes = 8;

  cpu::RowIndex index;
  int axes;
  std::int64_t extents[kMostAxes];

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, std::int64_t* parts) const {
    std::int64_t part = 0;
    for (int axis = 0; axis < axes; ++axis) {
      part = part * extents[axis] + index[std::int64_t{i} * axes + axis];
    }
    parts[i] = part;
  }
};

// Where take_along_axis finds each element of its result in X, whose shape without the axis is
// broadcast with that of the index.
struct PositionsAlong {
  BroadcastIndex<2> operands;
  cpu::RowIndex index;
  std::int64_t extent;
  std::int64_t inner;

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, std::int64_t* positions) const {
    Index at[2];
    operands(i, at);
    const std::int64_t beside = at[0];
    positions[i] =
        beside + inner * (beside / inner * (extent - 1) + index.number(std::int64_t{at[1]}));
  }
};

// The last numbers that name rows of a table [extent, width] of words, a group for each number.
struct LastRows {
  cpu::IndexedRows shape;
  cpu::RowIndex index;

  FC_HOST_DEVICE bool is_last(const Group& group, std::int64_t i) const {
    int is_earlier = 0;
    for (std::int64_t k = i + 1 + group.rank(); k < shape.count && is_earlier == 0;
         k += group.size()) {
      if (index[k] == index[i]) is_earlier = 1;
    }
    return group.all(is_earlier, [](int a, int b) { return a | b; }) == 0;
  }
};

// The rows that the last ones name become theirs; null: zeros.
struct ReplaceRows {
  LastRows last;

  template <class Word>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t i,
                                 const Word* rows,
                                 Word* table) const {
    if (!last.is_last(group, i)) return;
    const std::int64_t width = last.shape.width;
    for (std::int64_t column = group.rank(); column < width; column += group.size()) {
      table[last.index[i] * width + column] = rows == nullptr ? Word(0) : rows[i * width + column];
    }
  }
};

// rows = those that the last ones name; zeros for the others.
struct TakeLastRows {
  LastRows last;

  template <class Word>
  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t i,
                                 const Word* table,
                                 Word* rows) const {
    const bool is_last = last.is_last(group, i);
    const std::int64_t width = last.shape.width;
    for (std::int64_t column = group.rank(); column < width; column += group.size()) {
      rows[i * width + column] = is_last ? table[last.index[i] * width + column] : Word(0);
    }
  }
};

}  // namespace fluidcore::cuda
