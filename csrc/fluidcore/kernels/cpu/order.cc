#include "fluidcore/kernels/cpu/order.h"

#include <algorithm>
#include <array>

#include "fluidcore/base/division.h"
#include "fluidcore/base/dtype.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

// Columns that are searched together, so that the elements of a row are read one after the other.
constexpr std::int64_t kSearchedTogether = 256;

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
  std::array<C, kSearchedTogether> best;
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

template <class T>
void find_typed(const OrderedDim& dim, const T* x, std::int64_t* indices) {
  if (dim.outer * dim.inner == 0) return;
  const std::int64_t width = std::min(dim.inner, kSearchedTogether);
  const std::int64_t strips = divide_up(dim.inner, width);
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

}  // namespace

void find_first(const OrderedDim& dim, DType dtype, const void* x, std::int64_t* indices) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    find_typed(dim, static_cast<const T*>(x), indices);
  });
}

}  // namespace fluidcore::cpu
