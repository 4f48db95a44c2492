#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/base/shape.h"
#include "fluidcore/kernels/cpu/isa.h"

namespace fluidcore::cpu {

// Permutes the dimensions of tensors of one shape: dimension d of the result is dimension
// axes[d] of the input. Works on elements of 1, 2, 4 or 8 bytes.
class Transpose {
 public:
  Transpose(const Shape& in, const std::vector<std::size_t>& axes, std::size_t element_bytes);

  // `to` and `from` must not overlap.
  void run(void* to, const void* from) const;

 private:
  struct Dim {
    std::int64_t extent;
    std::int64_t to_stride;
    std::int64_t from_stride;
  };
  struct Offsets {
    std::int64_t to = 0;
    std::int64_t from = 0;
  };

  Offsets offsets(std::int64_t index) const;  // of a place in the outer dimensions
  template <class Word>
  void copy_lines(Word* to, const Word* from) const;
  template <class Word>
  void turn_block(
      Isa isa, Word* to, const Word* from, std::int64_t a_begin, std::int64_t b_begin) const;
  template <class Word>
  void run_words(Word* to, const Word* from) const;

  std::size_t element_bytes_;
  std::int64_t size_;
  std::vector<Dim> outer_;  // all but the two below, outermost first
  Dim from_inner_;          // adjacent in the input; extent 1 if it is the same as to_inner_
  Dim to_inner_;            // adjacent in the result
};

}  // namespace fluidcore::cpu
