#include "fluidcore/kernels/cpu/cumsum.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

// Columns that are added together, so that the elements of a row are read one after the other.
constexpr std::int64_t kColumns = 256;

template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

// `width` <= most adjacent columns of one matrix, whose rows are `stride` apart. One column alone
// is summed in a register.
template <std::int64_t most, class T>
void add_columns(std::int64_t count,
                 std::int64_t stride,
                 std::int64_t width,
                 CumsumOrder order,
                 const T* x,
                 T* out) {
  std::array<Total<T>, most> totals;
  if constexpr (most == 1) width = 1;
  std::fill_n(totals.begin(), width, Total<T>{});
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t row = (order.reverse ? count - 1 - step : step) * stride;
    for (std::int64_t i = 0; i < width; ++i) {
      const Total<T> before = totals[i];
      totals[i] += static_cast<Total<T>>(static_cast<ComputeType<T>>(x[row + i]));
      out[row + i] =
          static_cast<T>(static_cast<ComputeType<T>>(order.exclusive ? before : totals[i]));
    }
  }
}

}  // namespace

template <class T>
void cumsum(std::int64_t outer,
            std::int64_t count,
            std::int64_t inner,
            CumsumOrder order,
            const T* x,
            T* out) {
  const std::int64_t width = std::min(inner, kColumns);
  if (outer * count * inner == 0) return;
  const std::int64_t strips = (inner + width - 1) / width;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (count * width));
  parallel_for(outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip) {
      const std::int64_t column = strip % strips * width;
      const std::int64_t offset = strip / strips * count * inner + column;
      const auto add = width == 1 ? add_columns<1, T> : add_columns<kColumns, T>;
      add(count, inner, std::min(width, inner - column), order, x + offset, out + offset);
    }
  });
}

template void cumsum(std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const float*, float*);
template void cumsum(std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const double*, double*);
template void cumsum(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const Float16*, Float16*);
template void cumsum(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const BFloat16*, BFloat16*);
template void cumsum(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const std::int32_t*, std::int32_t*);
template void cumsum(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const std::int64_t*, std::int64_t*);

}  // namespace fluidcore::cpu
