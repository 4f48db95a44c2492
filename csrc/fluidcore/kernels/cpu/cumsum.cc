#include "fluidcore/kernels/cpu/cumsum.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "fluidcore/base/division.h"
#include "fluidcore/base/dtype.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

// Columns that are added together, so that the elements of a row are read one after the other.
constexpr std::int64_t kAddedTogether = 256;

template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

struct Sum {
  static constexpr int kStart = 0;
  template <class N>
  N operator()(N a, N b) const {
    return a + b;
  }
};

struct Product {
  static constexpr int kStart = 1;
  template <class N>
  N operator()(N a, N b) const {
    return a * b;
  }
};

// `width` <= most adjacent columns of one matrix, whose rows are `stride` apart. One column alone
// is summed in a register.
template <class Operation, std::int64_t most, class T>
void add_columns(std::int64_t count,
                 std::int64_t stride,
                 std::int64_t width,
                 CumsumOrder order,
                 const T* x,
                 T* out) {
  std::array<Total<T>, most> totals;
  if constexpr (most == 1) width = 1;
  std::fill_n(totals.begin(), width, Total<T>(Operation::kStart));
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t row = (order.reverse ? count - 1 - step : step) * stride;
    for (std::int64_t i = 0; i < width; ++i) {
      const Total<T> before = totals[i];
      const auto value = static_cast<Total<T>>(static_cast<ComputeType<T>>(x[row + i]));
      totals[i] = Operation()(before, value);
      out[row + i] =
          static_cast<T>(static_cast<ComputeType<T>>(order.exclusive ? before : totals[i]));
    }
  }
}

template <class Operation, class T>
void accumulate(std::int64_t outer,
                std::int64_t count,
                std::int64_t inner,
                CumsumOrder order,
                const T* x,
                T* out) {
  const std::int64_t width = std::min(inner, kAddedTogether);
  if (outer * count * inner == 0) return;
  const std::int64_t strips = divide_up(inner, width);
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (count * width));
  parallel_for(outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip) {
      const std::int64_t column = strip % strips * width;
      const std::int64_t offset = strip / strips * count * inner + column;
      const auto add =
          width == 1 ? add_columns<Operation, 1, T> : add_columns<Operation, kAddedTogether, T>;
      add(count, inner, std::min(width, inner - column), order, x + offset, out + offset);
    }
  });
}

}  // namespace

template <class T>
void cumsum(std::int64_t outer,
            std::int64_t count,
            std::int64_t inner,
            CumsumOrder order,
            const T* x,
            T* out) {
  accumulate<Sum>(outer, count, inner, order, x, out);
}

template <class T>
void cumprod(std::int64_t outer,
             std::int64_t count,
             std::int64_t inner,
             CumsumOrder order,
             const T* x,
             T* out) {
  accumulate<Product>(outer, count, inner, order, x, out);
}

template void cumsum(std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const float*, float*);
template void cumsum(std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const double*, double*);
template void cumsum(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const BFloat16*, BFloat16*);
template void cumsum(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const std::int32_t*, std::int32_t*);
template void cumsum(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const std::int64_t*, std::int64_t*);
template void cumprod(std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const float*, float*);
template void cumprod(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const double*, double*);
template void cumprod(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const BFloat16*, BFloat16*);
template void cumprod(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const std::int32_t*, std::int32_t*);
template void cumprod(
    std::int64_t, std::int64_t, std::int64_t, CumsumOrder, const std::int64_t*, std::int64_t*);

}  // namespace fluidcore::cpu
