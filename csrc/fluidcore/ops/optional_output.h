#pragma once

#include <cstddef>
#include <string_view>

#include "fluidcore/op/contexts.h"

namespace fluidcore {

// An output of any dtype; an empty handle when it is not wanted.
inline Arg<void> optional_raw_output(const KernelContext& context,
                                     std::string_view slot,
                                     std::size_t index = 0) {
  return context.has_output(slot, index) ? context.raw_output(slot, index) : Arg<void>();
}

}  // namespace fluidcore
