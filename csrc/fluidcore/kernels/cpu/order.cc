#include "fluidcore/kernels/cpu/order.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

// Columns that are searched together, so that the elements of a row are read one after the other.
constexpr std::int64_t kColumns = 256;

template <class C>
bool is_nan(C x) {
  return x != x;  // NOLINT(misc-redundant-expression)
}

template <bool descending, class C>
bool comes_before(C a, C b) {
  return descending ? a > b : a < b;
}

template <bool descending, class T>
void find_in_columns(const OrderedDim& dim, std::int64_t width, const T* x, std::int64_t* indices) {
  using C = ComputeType<T>;
  std::array<C, kColumns> best;
  std::fill_n(indices, width, 0);
  for (std::int64_t i = 0; i < width; ++i) best[i] = static_cast<C>(x[i]);
  for (std::int64_t row = 1; row < dim.count; ++row) {
    for (std::int64_t i = 0; i < width; ++i) {
      const C value = static_cast<C>(x[row * dim.inner + i]);
      const bool is_first_nan = is_nan(value) && !is_nan(best[i]);
      if (!is_first_nan && !comes_before<descending>(value, best[i])) continue;
      best[i] = value;
      indices[i] = row;
    }
  }
}

// `found` [count]: the order of one column, whose elements are dim.inner apart.
template <bool descending, class T>
void sort_column(const OrderedDim& dim, const T* x, std::int64_t* found) {
  using C = ComputeType<T>;
  std::iota(found, found + dim.count, 0);
  std::sort(found, found + dim.count, [&](std::int64_t a, std::int64_t b) {
    const C at_a = static_cast<C>(x[a * dim.inner]);
    const C at_b = static_cast<C>(x[b * dim.inner]);
    if (is_nan(at_a) != is_nan(at_b)) return is_nan(at_a) == descending;
    if (comes_before<descending>(at_a, at_b)) return true;
    return !comes_before<descending>(at_b, at_a) && a < b;
  });
}

template <class T>
void find_typed(const OrderedDim& dim, const T* x, std::int64_t* indices) {
  if (dim.outer * dim.inner == 0) return;
  const std::int64_t width = std::min(dim.inner, kColumns);
  const std::int64_t strips = (dim.inner + width - 1) / width;
  const auto find = dim.descending ? find_in_columns<true, T> : find_in_columns<false, T>;
  const std::int64_t grain = kGrain / (dim.count * width) + 1;
  parallel_for(dim.outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip) {
      const std::int64_t outer = strip / strips;
      const std::int64_t column = strip % strips * width;
      find(dim, std::min(width, dim.inner - column), x + outer * dim.count * dim.inner + column,
           indices + outer * dim.inner + column);
    }
  });
}

template <class T>
void sort_typed(const OrderedDim& dim, const T* x, std::int64_t* memory, std::int64_t* indices) {
  const auto sort = dim.descending ? sort_column<true, T> : sort_column<false, T>;
  std::int64_t* sorted = dim.inner == 1 ? indices : memory;
  constexpr std::int64_t kSortGrain = 1024;
  const std::int64_t grain = kSortGrain / std::max<std::int64_t>(dim.count, 1) + 1;
  parallel_for(dim.outer * dim.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i / dim.inner * dim.count * dim.inner + i % dim.inner;
      std::int64_t* found = sorted + i * dim.count;
      sort(dim, x + first, found);
      for (std::int64_t row = 0; row < dim.count && sorted != indices; ++row) {
        indices[first + row * dim.inner] = found[row];
      }
    }
  });
}

}  // namespace

void find_first(const OrderedDim& dim, DType dtype, const void* x, std::int64_t* indices) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    find_typed(dim, static_cast<const T*>(x), indices);
  });
}

void sort_indices(const OrderedDim& dim,
                  DType dtype,
                  const void* x,
                  std::int64_t* memory,
                  std::int64_t* indices) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sort_typed(dim, static_cast<const T*>(x), memory, indices);
  });
}

}  // namespace fluidcore::cpu
