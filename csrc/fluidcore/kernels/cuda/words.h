#pragma once

#include <cstddef>
#include <cstdint>

namespace fluidcore::cuda {

// Calls f with an unsigned number as wide as an element, 1, 2, 4 or 8 bytes: what moves elements
// needs no other type.
template <class F>
void visit_word(std::size_t element_bytes, const F& f) {
  switch (element_bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
  }
}

}  // namespace fluidcore::cuda
