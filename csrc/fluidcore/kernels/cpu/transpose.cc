#include "fluidcore/kernels/cpu/transpose.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/cpu/square.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kBlock = 32;  // a square of this side stays in the cache
constexpr std::int64_t kStrip = 4;   // squares beside each other, so that pages are left less often
constexpr std::int64_t kShort = 4;   // lines that are not worth a square

// Lines [0, lines) of `from`, which are `apart`, become columns: to[i lines + j] = line j[i].
template <std::int64_t lines, class Word>
void interleave(std::int64_t count, const Word* from, std::int64_t apart, Word* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < lines; ++j) to[i * lines + j] = from[j * apart + i];
  }
}

template <class Word>
void interleave_lines(
    std::int64_t lines, std::int64_t count, const Word* from, std::int64_t apart, Word* to) {
  switch (lines) {
    case 2: return interleave<2>(count, from, apart, to);
    case 3: return interleave<3>(count, from, apart, to);
    default: return interleave<4>(count, from, apart, to);
  }
}

// A whole square: to[i to_apart + j] = from[j apart + i].
template <int kVectorBytes, class Word>
[[gnu::always_inline]] inline void turn_square(const Word* from,
                                               std::int64_t apart,
                                               Word* to,
                                               std::int64_t to_apart) {
  using Lines = Square<Word, kVectorBytes>;
  for (std::int64_t i = 0; i < kBlock; i += Lines::kWidth) {
    for (std::int64_t j = 0; j < kBlock; j += Lines::kWidth) {
      Lines::turn(from + j * apart + i, apart, to + i * to_apart + j, to_apart);
    }
  }
}

template <class Word>
void turn_square_on(
    Isa isa, const Word* from, std::int64_t apart, Word* to, std::int64_t to_apart) {
  constexpr int kSixteen = 16 * static_cast<int>(sizeof(Word));
  if (isa == Isa::kAvx512) {
    run_avx512([=] { turn_square<std::min(kSixteen, 64)>(from, apart, to, to_apart); });
  } else {
    turn_square<16>(from, apart, to, to_apart);
  }
}

}  // namespace

Transpose::Transpose(const Shape& in,
                     const std::vector<std::size_t>& axes,
                     std::size_t element_bytes)
    : element_bytes_(element_bytes),
      size_(in.num_elements()),
      from_inner_{1, 0, 0},
      to_inner_{1, 1, 1} {
  std::vector<std::int64_t> from_strides(in.rank(), 1);
  for (std::size_t axis = in.rank(); axis-- > 1;) {
    from_strides[axis - 1] = from_strides[axis] * in[axis];
  }
  std::vector<Dim> dims;  // of the result, innermost first, neighbours in both tensors merged
  std::int64_t to_stride = 1;
  for (std::size_t d = axes.size(); d-- > 0;) {
    const std::int64_t extent = in[axes[d]];
    if (extent == 1) continue;
    const std::int64_t from_stride = from_strides[axes[d]];
    if (!dims.empty() && from_stride == dims.back().from_stride * dims.back().extent) {
      dims.back().extent *= extent;
    } else {
      dims.push_back({extent, to_stride, from_stride});
    }
    to_stride *= extent;
  }
  if (dims.empty()) return;
  to_inner_ = dims.front();
  dims.erase(dims.begin());
  const auto inner =
      std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.from_stride == 1; });
  if (inner != dims.end()) {
    from_inner_ = *inner;
    dims.erase(inner);
  }
  outer_.assign(dims.rbegin(), dims.rend());
}

Transpose::Offsets Transpose::offsets(std::int64_t index) const {
  Offsets at;
  for (std::size_t axis = outer_.size(); axis-- > 0;) {
    const Dim& dim = outer_[axis];
    const std::int64_t next = index / dim.extent;
    at.to += (index - next * dim.extent) * dim.to_stride;
    at.from += (index - next * dim.extent) * dim.from_stride;
    index = next;
  }
  return at;
}

// Lines that are adjacent in both tensors, those of one row after the other.
template <class Word>
void Transpose::copy_lines(Word* to, const Word* from) const {
  const Dim row = outer_.empty() ? Dim{1, 0, 0} : outer_.back();
  const auto bytes = static_cast<std::size_t>(to_inner_.extent) * sizeof(Word);
  const std::int64_t lines = size_ / to_inner_.extent;
  parallel_for(lines, kGrain / to_inner_.extent, [&](std::int64_t first, std::int64_t last) {
    while (first < last) {
      const Offsets at = offsets(first);
      const std::int64_t count = std::min(row.extent - first % row.extent, last - first);
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(to + at.to + i * row.to_stride, from + at.from + i * row.from_stride, bytes);
      }
      first += count;
    }
  });
}

// The block of both inner dimensions that begins at (a_begin, b_begin).
template <class Word>
void Transpose::turn_block(
    Isa isa, Word* to, const Word* from, std::int64_t a_begin, std::int64_t b_begin) const {
  const Dim a = from_inner_;
  const Dim b = to_inner_;
  const std::int64_t a_count = std::min(kBlock, a.extent - a_begin);
  const std::int64_t b_count = std::min(kBlock, b.extent - b_begin);
  Word* const target = to + a_begin * a.to_stride + b_begin;
  const Word* const source = from + a_begin * a.from_stride + b_begin * b.from_stride;
  if (a.from_stride == 1 && a_count == kBlock && b_count == kBlock) {
    return turn_square_on(isa, source, b.from_stride, target, a.to_stride);
  }
  // Through a square in the cache, so that both tensors are walked along their lines.
  std::array<std::array<Word, kBlock>, kBlock> square;
  for (std::int64_t j = 0; j < b_count; ++j) {
    const Word* const line = source + j * b.from_stride;
    for (std::int64_t i = 0; i < a_count; ++i) square[i][j] = line[i * a.from_stride];
  }
  for (std::int64_t i = 0; i < a_count; ++i) {
    std::memcpy(target + i * a.to_stride, square[i].data(),
                static_cast<std::size_t>(b_count) * sizeof(Word));
  }
}

template <class Word>
void Transpose::run_words(Word* to, const Word* from) const {
  const Dim a = from_inner_;
  const Dim b = to_inner_;
  if (b.from_stride == 1) return copy_lines(to, from);
  const bool interleaves = b.extent <= kShort && a.from_stride == 1 && a.to_stride == b.extent;
  const std::int64_t a_blocks = divide_up(a.extent, kBlock);
  const std::int64_t tasks = size_ / (a.extent * b.extent) * a_blocks;
  const std::int64_t grain = kGrain / (std::min(a.extent, kBlock) * b.extent);
  parallel_for(tasks, grain, [&, isa = cpu_isa()](std::int64_t first, std::int64_t last) {
    while (first < last) {
      const std::int64_t block = first % a_blocks;
      const std::int64_t count = std::min({last - first, a_blocks - block, kStrip});
      const std::int64_t a_begin = block * kBlock;
      const std::int64_t a_end = std::min(a_begin + count * kBlock, a.extent);
      const Offsets at = offsets(first / a_blocks);
      Word* const target = to + at.to;
      const Word* const source = from + at.from;
      first += count;
      if (interleaves) {
        interleave_lines(b.extent, a_end - a_begin, source + a_begin, b.from_stride,
                         target + a_begin * a.to_stride);
        continue;
      }
      for (std::int64_t b_begin = 0; b_begin < b.extent; b_begin += kBlock) {
        for (std::int64_t i = a_begin; i < a_end; i += kBlock) {
          turn_block(isa, target, source, i, b_begin);
        }
      }
    }
  });
}

void Transpose::run(void* to, const void* from) const {
  if (size_ == 0) return;
  switch (element_bytes_) {
    case 1:
      return run_words(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from));
    case 2:
      return run_words(static_cast<std::uint16_t*>(to), static_cast<const std::uint16_t*>(from));
    case 4:
      return run_words(static_cast<std::uint32_t*>(to), static_cast<const std::uint32_t*>(from));
    default:
      return run_words(static_cast<std::uint64_t*>(to), static_cast<const std::uint64_t*>(from));
  }
}

}  // namespace fluidcore::cpu
