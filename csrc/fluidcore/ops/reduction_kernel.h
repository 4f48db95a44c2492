#pragma once

#include <memory>
#include <vector>

#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/ops/elementwise.h"

namespace fluidcore {

// out = what Operation makes of the elements of `in` over some dimensions of `shape`, divided by
// `divisor`.
template <class Operation, class T>
Kernel reduction(const KernelContext& context,
                 const Shape& shape,
                 const std::vector<bool>& reduced,
                 Arg<const T> in,
                 Arg<T> out,
                 double divisor = 1.0) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const cuda::Reduction<Operation, T> all(context.device(), context.scratch(), shape, reduced);
      return Kernel::enqueued([=] { all.run(cuda::Elements<T>{in.data()}, out.data(), divisor); });
    }
  }
  const auto all = std::make_shared<cpu::Reduction<Operation, T>>(shape, reduced);
  if (all->is_by_rows() && out.size() > 0) {
    RowPart part{.out = by_element(out.cell()), .in = {{in.cell(), out.size()}}};
    part.run = [=, row = in.size() / out.size()](std::int64_t begin, std::int64_t size,
                                                 const RowSlice& to, const RowSlice* from) {
      all->run_part(size, at<const T>(from[0], begin * row), at<T>(to, begin), divisor);
    };
    return RowKernel(std::move(part));
  }
  return [=] { all->run(in.data(), out.data(), divisor); };
}

}  // namespace fluidcore
