#include "fluidcore/ops/elementwise.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace fluidcore {

Kernel stream_kernel(const KernelContext& context,
                     const cpu::StreamFormula& formula,
                     std::initializer_list<const char*> inputs,
                     const char* output) {
  if (!context.has_output(output)) return nothing_to_do();
  ElementwisePart part{.out = context.raw_output(output).cell()};
  for (const char* slot : inputs) part.streams.push_back(context.raw_input(slot).cell());
  part.run = [formula, dtype = context.dtype()](std::int64_t /*begin*/, std::int64_t size,
                                                void* out, const void* const* streams) {
    cpu::run_stream_part(formula, dtype, size, out, streams);
  };
  return ElementwiseKernel({std::move(part)});
}

Kernel both(Kernel first, Kernel second) {
  if (first.elementwise() != nullptr && second.elementwise() != nullptr) {
    std::vector<ElementwisePart> parts = first.elementwise()->parts();
    const std::vector<ElementwisePart>& others = second.elementwise()->parts();
    parts.insert(parts.end(), others.begin(), others.end());
    return ElementwiseKernel(std::move(parts));
  }
  return [first = std::move(first), second = std::move(second)] {
    first();
    second();
  };
}

}  // namespace fluidcore
