#include "fluidcore/kernels/cpu/gather.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/functors.h"

namespace fluidcore::cpu {

namespace {

// Of a sum in the type C, for terms of a type that converts to it.
template <class C>
struct AddTerm {
  C operator()(C sum, C term) const { return Add()(sum, term); }
};

struct RowBytes {
  std::int64_t size;

  // to[j] = from[numbers[j]] for rows of so many bytes.
  void take(std::int64_t count, const std::int64_t* numbers, const char* from, char* to) const {
    for (std::int64_t j = 0; j < count; ++j, to += size) {
      if (numbers[j] < 0) {
        std::memset(to, 0, static_cast<std::size_t>(size));
      } else {
        std::memcpy(to, from + numbers[j] * size, static_cast<std::size_t>(size));
      }
    }
  }
};

// Rows of one element.
template <class Element>
struct ElementBytes {
  static void take(std::int64_t count, const std::int64_t* numbers, const char* from, char* to) {
    const auto* table = reinterpret_cast<const Element*>(from);
    auto* elements = reinterpret_cast<Element*>(to);
    run_on(cpu_isa(), [=] {
#pragma omp simd
      for (std::int64_t j = 0; j < count; ++j) {
        const Element element = table[std::max<std::int64_t>(numbers[j], 0)];
        elements[j] = numbers[j] < 0 ? Element{0} : element;
      }
    });
  }
};

// Numbers [first, first + size) of an index.
void read(RowIndex index, std::int64_t first, std::int64_t size, std::int64_t* numbers) {
  for (std::int64_t i = 0; i < size; ++i) numbers[i] = index[first + i];
}

// As find_outside(), for one type of numbers.
template <class Number>
std::int64_t first_outside(const Number* numbers,
                           std::int64_t size,
                           std::int64_t extent,
                           std::optional<std::int64_t> allowed) {
  const auto is_outside = [=, any = allowed.has_value(), one = allowed.value_or(0)](Number number) {
    return (number < 0 || number >= extent) && !(any && number == one);
  };
  for (std::int64_t begin = 0; begin < size; begin += kTile) {
    const std::int64_t end = std::min(begin + kTile, size);
    bool found = false;
    for (std::int64_t i = begin; i < end; ++i) found |= is_outside(numbers[i]);
    if (found) return std::find_if(numbers + begin, numbers + end, is_outside) - numbers;
  }
  return -1;
}

template <class Bytes>
void take(
    const IndexedRows& shape, RowIndex index, const char* table, char* rows, const Bytes& bytes) {
  const std::int64_t grain = (std::int64_t{1} << 17) / shape.width;
  parallel_for(shape.outer * shape.count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kTile> numbers;
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t outer = i / shape.count;
      const std::int64_t size = std::min({end - i, (outer + 1) * shape.count - i, kTile});
      read(index, shape.own_index ? i : i - outer * shape.count, size, numbers.data());
      const char* from = table + outer * shape.extent * shape.width;
      char* to = rows + i * shape.width;
      bytes.take(size, numbers.data(), from, to);
      i += size;
    }
  });
}

// The places of an index by what they name: for each row of a table the first place that names it,
// and for each place the next one that names the same row; -1: none.
class IndexLinks {
 public:
  // Found anew, in `links`.
  IndexLinks(const IndexedRows& shape, RowIndex index, std::int64_t* links);

  std::int64_t first(std::int64_t list, std::int64_t row) const {
    return links_[list * shape_.extent + row];
  }
  std::int64_t next(std::int64_t list, std::int64_t place) const {
    return links_[shape_.num_lists() * shape_.extent + list * shape_.count + place];
  }

 private:
  IndexedRows shape_;
  std::int64_t* links_;
};

IndexLinks::IndexLinks(const IndexedRows& shape, RowIndex index, std::int64_t* links)
    : shape_(shape), links_(links) {
  const std::int64_t grain = kGrain / std::max<std::int64_t>(shape.extent + shape.count, 1);
  parallel_for(shape.num_lists(), grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t list = begin; list < end; ++list) {
      std::int64_t* first = links + list * shape.extent;
      std::int64_t* next = links + shape.num_lists() * shape.extent + list * shape.count;
      std::fill_n(first, shape.extent, -1);
      for (std::int64_t place = shape.count - 1; place >= 0; --place) {
        const std::int64_t row = index[list * shape.count + place];
        if (row < 0) continue;
        next[place] = first[row];
        first[row] = place;
      }
    }
  });
}

// add_rows() for rows of one element: each table is added to by one thread, without links. `memory`
// has an element for each one of the tables.
template <class T>
void add_elements(const IndexedRows& shape,
                  RowIndex index,
                  const T* rows,
                  const T* base,
                  ComputeType<T>* memory,
                  T* table) {
  const Isa isa = cpu_isa();
  const std::int64_t grain = kGrain / (shape.extent + shape.count) + 1;
  parallel_for(shape.outer, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t outer = begin; outer < end; ++outer) {
      const std::int64_t start = outer * shape.extent;
      ComputeType<T>* sums = memory + start;
      if (base == nullptr) {
        std::fill_n(sums, shape.extent, ComputeType<T>(0));
      } else {
        convert_row(isa, shape.extent, sums, base + start);
      }
      for (std::int64_t i = outer * shape.count; i < (outer + 1) * shape.count; ++i) {
        const std::int64_t row = index[shape.own_index ? i : i - outer * shape.count];
        if (row >= 0) sums[row] = AddTerm<ComputeType<T>>()(sums[row], rows[i]);
      }
      convert_row(isa, shape.extent, table + start, sums);
    }
  });
}

}  // namespace

std::int64_t find_outside(RowIndex index,
                          std::int64_t size,
                          std::int64_t extent,
                          std::optional<std::int64_t> allowed) {
  const auto find = [&](const auto* numbers) {
    return first_outside(numbers, size, extent, allowed);
  };
  return index.is_wide ? find(static_cast<const std::int64_t*>(index.data))
                       : find(static_cast<const std::int32_t*>(index.data));
}

void take_rows(const IndexedRows& shape, RowIndex index, const void* table, void* rows) {
  if (shape.width == 0 || shape.count == 0) return;
  if (shape.extent == 0) {  // every number is -1
    std::memset(rows, 0, static_cast<std::size_t>(shape.outer * shape.count * shape.width));
    return;
  }
  const auto run = [&](const auto& bytes) {
    take(shape, index, static_cast<const char*>(table), static_cast<char*>(rows), bytes);
  };
  switch (shape.width) {
    case 1: return run(ElementBytes<std::uint8_t>());
    case 2: return run(ElementBytes<std::uint16_t>());
    case 4: return run(ElementBytes<std::uint32_t>());
    case 8: return run(ElementBytes<std::uint64_t>());
    default: return run(RowBytes{shape.width});
  }
}

void replace_rows(const IndexedRows& shape, RowIndex places, const void* rows, void* table) {
  if (shape.width == 0 || shape.extent == 0) return;
  const std::int64_t grain = (std::int64_t{1} << 17) / shape.width;
  parallel_for(shape.outer * shape.extent, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t place = places[shape.own_index ? i : i % shape.extent];
      if (place < 0) continue;
      std::memcpy(
          static_cast<char*>(table) + i * shape.width,
          static_cast<const char*>(rows) + (i / shape.extent * shape.count + place) * shape.width,
          static_cast<std::size_t>(shape.width));
    }
  });
}

void find_last_places(const IndexedRows& shape, RowIndex index, std::int64_t* last) {
  std::fill_n(last, shape.num_lists() * shape.extent, -1);
  for (std::int64_t list = 0; list < shape.num_lists(); ++list) {
    for (std::int64_t place = 0; place < shape.count; ++place) {
      const std::int64_t row = index[list * shape.count + place];
      if (row >= 0) last[list * shape.extent + row] = place;
    }
  }
}

std::int64_t num_links(const IndexedRows& shape) {
  return shape.width == 1 ? shape.outer * shape.extent
                          : shape.num_lists() * (shape.extent + shape.count);
}

template <class T>
void add_rows(const IndexedRows& shape,
              RowIndex index,
              std::int64_t* links,
              const T* rows,
              const T* base,
              T* table) {
  if (shape.width == 0 || shape.extent == 0) return;
  if (shape.width == 1) {
    auto* memory = reinterpret_cast<ComputeType<T>*>(links);
    return add_elements(shape, index, rows, base, memory, table);
  }
  const IndexLinks found(shape, index, links);
  const Isa isa = cpu_isa();
  // Of one row of the table, the elements [begin, begin + size).
  const auto add_part = [&](std::int64_t outer, std::int64_t row, std::int64_t begin,
                            std::int64_t size) {
    std::array<ComputeType<T>, kTile> sums;
    const std::int64_t list = shape.own_index ? outer : 0;
    const std::int64_t at = (outer * shape.extent + row) * shape.width + begin;
    if (base == nullptr) {
      std::fill_n(sums.data(), size, ComputeType<T>(0));
    } else {
      convert_row(isa, size, sums.data(), base + at);
    }
    for (std::int64_t i = found.first(list, row); i >= 0; i = found.next(list, i)) {
      const T* from = rows + (outer * shape.count + i) * shape.width + begin;
      calculate(isa, AddTerm<ComputeType<T>>(), size, sums.data(), sums.data(), from);
    }
    convert_row(isa, size, table + at, sums.data());
  };
  const std::int64_t grain = std::max<std::int64_t>(kGrain / shape.width, 1);
  parallel_for(shape.outer * shape.extent, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t outer = i / shape.extent;
      const std::int64_t row = i % shape.extent;
      if (found.first(shape.own_index ? outer : 0, row) < 0) {
        T* to = table + i * shape.width;
        if (base == nullptr) std::fill_n(to, shape.width, T(0));
        if (base != nullptr && base != table) std::copy_n(base + i * shape.width, shape.width, to);
        continue;
      }
      for (std::int64_t column = 0; column < shape.width; column += kTile) {
        add_part(outer, row, column, std::min(kTile, shape.width - column));
      }
    }
  });
}

template void add_rows(
    const IndexedRows&, RowIndex, std::int64_t*, const float*, const float*, float*);
template void add_rows(
    const IndexedRows&, RowIndex, std::int64_t*, const double*, const double*, double*);
template void add_rows(
    const IndexedRows&, RowIndex, std::int64_t*, const Float16*, const Float16*, Float16*);
template void add_rows(
    const IndexedRows&, RowIndex, std::int64_t*, const BFloat16*, const BFloat16*, BFloat16*);
template void add_rows(const IndexedRows&,
                       RowIndex,
                       std::int64_t*,
                       const std::int32_t*,
                       const std::int32_t*,
                       std::int32_t*);
template void add_rows(const IndexedRows&,
                       RowIndex,
                       std::int64_t*,
                       const std::int64_t*,
                       const std::int64_t*,
                       std::int64_t*);

}  // namespace fluidcore::cpu
