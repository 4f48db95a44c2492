#pragma once

#include <cstddef>
#include <vector>

namespace fluidcore {

// A temporary: its size, and the first and last step that use it.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

// Where each temporary lies in one block of memory, such that no two that live at the same time
// overlap. Offsets are multiples of 64.
struct ArenaLayout {
  std::vector<std::size_t> offsets;  // in the order of the lifetimes
  std::size_t bytes = 0;             // of the whole block
};

// Best fit over time, in n log n. `lifetimes` must be sorted by `first`.
ArenaLayout lay_out(const std::vector<Lifetime>& lifetimes);

}  // namespace fluidcore
