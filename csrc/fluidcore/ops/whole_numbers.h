#pragma once

#include <cstdint>
#include <type_traits>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/ops/elementwise.h"

namespace fluidcore {

// Kernels of whole numbers for operators whose speed counts for floating ones: in plain loops, for
// int64, through which the narrower types go.

// Out = f(X), where `make` gives f.
template <auto make>
Kernel map_whole(const KernelContext& context) {
  const auto x = context.input<std::int64_t>("X");
  const auto out = context.output<std::int64_t>("Out");
  return [=, f = make(context)] {
    parallel_for(out.size(), cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out.data()[i] = f(x.data()[i]);
    });
  };
}

template <auto make>
KernelTable whole_kernels() {
  return {{{DeviceKind::kCpu, DType::kInt64}, map_whole<make>}};
}

}  // namespace fluidcore
