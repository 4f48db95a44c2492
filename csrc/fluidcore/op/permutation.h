#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fluidcore/op/cell.h"

namespace fluidcore {

// What a kernel does that only puts the elements of one dense tensor into another order in another.
struct Permutation {
  struct Dim {
    std::int64_t extent;
    std::int64_t from;  // the stride there, in elements
    std::int64_t to;
  };

  const Cell* from = nullptr;
  const Cell* to = nullptr;
  std::vector<Dim> dims;  // in any order
};

// A tensor whose elements are in another one: element (i, j, ...) at first + i * strides[0] + ...
struct StridedCell {
  const Cell* cell = nullptr;
  std::int64_t first = 0;  // in elements
  std::vector<std::int64_t> strides;

  template <class T>
  T* data() const {
    return static_cast<T*>(cell->data) + first;
  }
};

// Where the elements of `cell` come from if some `permutations` are left out, and where they are
// put: in the other tensor of the one that it is an operand of, all or a part; where it is if there
// is none. Nothing where strides cannot say it.
std::optional<StridedCell> source_of(const Cell* cell,
                                     const std::vector<Permutation>& permutations);
std::optional<StridedCell> target_of(const Cell* cell,
                                     const std::vector<Permutation>& permutations);

}  // namespace fluidcore
