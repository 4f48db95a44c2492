#pragma once

#include <cstdint>
#include <optional>

#include "fluidcore/base/host_device.h"

namespace fluidcore::cpu {

// Numbers of rows, int32 or int64 as they lie in memory. -1: no row.
struct RowIndex {
  const void* data;
  bool is_wide;
  std::int64_t none = -1;    // this number is read as -1
  std::int64_t columns = 1;  // number i is of column i % columns of a row of so many

  FC_HOST_DEVICE std::int64_t number(std::int64_t i) const {
    return is_wide ? static_cast<const std::int64_t*>(data)[i]
                   : static_cast<const std::int32_t*>(data)[i];
  }
  FC_HOST_DEVICE std::int64_t operator[](std::int64_t i) const {
    const std::int64_t row = number(i);
    if (columns > 1) return row * columns + i % columns;
    return row == none ? -1 : row;
  }
};

// The position of the first of `size` numbers that is neither in [0, extent) nor `allowed`; -1: no
// such number.
std::int64_t find_outside(RowIndex index,
                          std::int64_t size,
                          std::int64_t extent,
                          std::optional<std::int64_t> allowed);

// A table [outer, extent, width] and the rows [outer, count, width] that an index names in it. The
// index is [count], the same for all of `outer`, or [outer, count] if it is their own. It has been
// checked: every number is below `extent`. With columns, each column of a row counts as a row.
struct IndexedRows {
  std::int64_t outer;
  std::int64_t extent;
  std::int64_t count;
  std::int64_t width;  // bytes, or elements where the elements have a type
  bool own_index = false;

  std::int64_t num_lists() const { return own_index ? outer : 1; }
};

// rows[o, i] = table[o, index[i]], zeros where the index is -1. Must not overlap.
void take_rows(const IndexedRows& shape, RowIndex index, const void* table, void* rows);

// table[o, r] = rows[o, places[r]] where that is not -1; `places` has `extent` numbers for each
// list.
void replace_rows(const IndexedRows& shape, RowIndex places, const void* rows, void* table);

// For each row of the table, [outer or 1, extent], the last place that names it; -1: none.
void find_last_places(const IndexedRows& shape, RowIndex index, std::int64_t* last);

// How many numbers of memory add_rows() needs.
std::int64_t num_links(const IndexedRows& shape);

// table[o, r] = base[o, r] + the rows[o, i] with index[i] = r, added in the order of i, so that the
// result does not depend on the number of threads; 16-bit floats in float. `links` are num_links()
// numbers of memory. `base` is null for zeros or may be the table itself. For the floating types,
// int32 and int64, which wrap around.
template <class T>
void add_rows(const IndexedRows& shape,
              RowIndex index,
              std::int64_t* links,
              const T* rows,
              const T* base,
              T* table);

}  // namespace fluidcore::cpu
