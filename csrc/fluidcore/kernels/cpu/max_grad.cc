#include "fluidcore/kernels/cpu/max_grad.h"

#include <algorithm>
#include <array>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

namespace {

// Whether `x` is not the maximum, or the minimum, `out`.
template <bool of_minimum, class C>
bool is_inside(C x, C out) {
  return of_minimum ? x > out : x < out;
}

// The first of `count` neighbours that is not inside of `out`; count if there is none.
template <bool of_minimum, class T>
std::int64_t first_extreme(std::int64_t count, const T* x, T out) {
  using C = ComputeType<T>;
  constexpr std::int64_t kBlock = 256;
  const C limit = static_cast<C>(out);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, count);
    int found = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      found |= is_inside<of_minimum>(static_cast<C>(x[i]), limit) ? 0 : 1;
    }
    if (found == 0) continue;
    return std::find_if(x + begin, x + end,
                        [=](T v) { return !is_inside<of_minimum>(static_cast<C>(v), limit); }) -
           x;
  }
  return count;
}

// One column of `count` rows for each of `columns` results, `stride` elements from row to row.
template <bool of_minimum, class T>
void columns_grad(std::int64_t count,
                  std::int64_t columns,
                  std::int64_t stride,
                  const T* x,
                  const T* out,
                  const T* out_grad,
                  T* x_grad) {
  using C = ComputeType<T>;
  constexpr std::int64_t kTile = 256;
  std::array<C, kTile> left;  // what no element of the column has got yet
  for (std::int64_t begin = 0; begin < columns; begin += kTile) {
    const std::int64_t width = std::min(kTile, columns - begin);
    for (std::int64_t i = 0; i < width; ++i) left[i] = static_cast<C>(out_grad[begin + i]);
    for (std::int64_t row = 0; row < count; ++row) {
      const T* from = x + row * stride + begin;
      T* to = x_grad + row * stride + begin;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < width; ++i) {
        const bool inside =
            is_inside<of_minimum>(static_cast<C>(from[i]), static_cast<C>(out[begin + i]));
        to[i] = static_cast<T>(inside ? C(0) : left[i]);
        left[i] = inside ? left[i] : C(0);
      }
    }
  }
}

}  // namespace

template <bool of_minimum, class T>
void max_grad(std::int64_t outer,
              std::int64_t count,
              std::int64_t inner,
              const T* x,
              const T* out,
              const T* out_grad,
              T* x_grad) {
  const Isa isa = cpu_isa();
  parallel_for(outer * inner, kGrain / count + 1, [&](std::int64_t begin, std::int64_t end) {
    run_on(isa, [=] {
      if (inner == 1) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t first = first_extreme<of_minimum>(count, x + i * count, out[i]);
          const T grad = out_grad[i];
          std::fill_n(x_grad + i * count, count, T(0));
          if (first < count) x_grad[i * count + first] = grad;
        }
        return;
      }
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t column = i % inner;
        const std::int64_t columns = std::min(inner - column, end - i);
        const std::int64_t start = i / inner * count * inner + column;
        columns_grad<of_minimum>(count, columns, inner, x + start, out + i, out_grad + i,
                                 x_grad + start);
        i += columns;
      }
    });
  });
}

template void max_grad<false>(
    std::int64_t, std::int64_t, std::int64_t, const float*, const float*, const float*, float*);
template void max_grad<false>(
    std::int64_t, std::int64_t, std::int64_t, const double*, const double*, const double*, double*);
template void max_grad<false>(std::int64_t,
                              std::int64_t,
                              std::int64_t,
                              const BFloat16*,
                              const BFloat16*,
                              const BFloat16*,
                              BFloat16*);
template void max_grad<true>(
    std::int64_t, std::int64_t, std::int64_t, const float*, const float*, const float*, float*);
template void max_grad<true>(
    std::int64_t, std::int64_t, std::int64_t, const double*, const double*, const double*, double*);
template void max_grad<true>(std::int64_t,
                             std::int64_t,
                             std::int64_t,
                             const BFloat16*,
                             const BFloat16*,
                             const BFloat16*,
                             BFloat16*);

}  // namespace fluidcore::cpu
