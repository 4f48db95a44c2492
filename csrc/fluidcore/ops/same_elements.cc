#include "fluidcore/ops/same_elements.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "fluidcore/base/dtype.h"

namespace fluidcore {

Kernel copy_elements(Arg<const void> from, Arg<void> to) {
  RowPart part{.out = by_element(to.cell()), .in = {by_element(from.cell())}};
  const auto bytes = static_cast<std::int64_t>(size_of(to.spec().dtype));
  part.run = [bytes](std::int64_t begin, std::int64_t size, const RowSlice& out,
                     const RowSlice* in) {
    std::byte* const dest = at_bytes(out, begin, bytes);
    const std::byte* const source = at_bytes(in[0], begin, bytes);
    if (dest != source) std::memcpy(dest, source, static_cast<std::size_t>(size * bytes));
  };
  if constexpr (kHasCuda) {
    part.launch = [bytes](DeviceContext& device, std::int64_t size, void* to,
                          const void* const* in) {
      if (to != in[0]) device.copy(to, in[0], static_cast<std::size_t>(size * bytes));
    };
  }
  return RowKernel(std::move(part));
}

}  // namespace fluidcore
