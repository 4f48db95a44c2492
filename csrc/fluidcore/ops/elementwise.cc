#include "fluidcore/ops/elementwise.h"

#include <algorithm>
#include <array>

namespace fluidcore {

Kernel stream_kernel(const KernelContext& context,
                     const cpu::StreamFormula& formula,
                     std::initializer_list<const char*> inputs,
                     const char* output) {
  if (!context.has_output(output)) return nothing_to_do();
  std::array<Arg<const void>, cpu::kMostStreams> in;
  std::transform(inputs.begin(), inputs.end(), in.begin(),
                 [&](const char* slot) { return context.raw_input(slot); });
  const Arg<void> out = context.raw_output(output);
  return [formula, in, out, dtype = context.dtype(), size = out.size()] {
    std::array<const void*, cpu::kMostStreams> data{};
    for (std::size_t i = 0; i < formula.arity; ++i) data[i] = in[i].data();
    cpu::run_streams(formula, dtype, size, out.data(), data.data());
  };
}

}  // namespace fluidcore
