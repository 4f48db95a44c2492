#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/copy.h"
#include "fluidcore/kernels/cuda/copy.h"
#include "fluidcore/op/op_def.h"

namespace fluidcore {

// One part of a tensor that is cut along an axis: rows of `row_bytes` bytes, `offset` bytes after
// the rows of the whole tensor, which are `whole_row_bytes` long.
template <class Part>
struct Slab {
  Part part;
  std::int64_t offset;
  std::int64_t row_bytes;
};
template <class Part>
struct Slabs {
  std::vector<Slab<Part>> parts;
  std::int64_t rows = 0;
  std::int64_t whole_row_bytes = 0;

  // `axis` counted from 0; parts that are not wanted are empty handles of the shape given.
  Slabs(const TensorSpec& whole, std::size_t axis)
      : rows(whole.shape.product(0, axis)),
        whole_row_bytes(whole.shape.product(axis, whole.shape.rank()) *
                        static_cast<std::int64_t>(size_of(whole.dtype))) {}

  void add(Part part, const TensorSpec& spec, std::size_t axis) {
    const std::int64_t bytes = spec.shape.product(axis, spec.shape.rank()) *
                               static_cast<std::int64_t>(size_of(spec.dtype));
    if (part && bytes > 0) parts.push_back({part, end_, bytes});
    end_ += bytes;
  }

 private:
  std::int64_t end_ = 0;
};

// Of rows that are `to_pitch` and `from_pitch` bytes apart, in the widest words.
struct RowsCopy {
  RowsCopy(std::int64_t rows,
           std::int64_t row_bytes,
           std::int64_t to_pitch,
           std::int64_t to_offset,
           std::int64_t from_pitch,
           std::int64_t from_offset)
      : word(static_cast<std::size_t>(
            std::gcd(std::gcd(std::gcd(row_bytes, to_pitch), std::gcd(from_pitch, to_offset)),
                     std::gcd(from_offset, std::int64_t{8})))),
        copy(pair(rows,
                  row_bytes,
                  to_pitch,
                  to_offset,
                  from_pitch,
                  from_offset,
                  static_cast<std::int64_t>(word))) {}

  static cpu::StridedPair pair(std::int64_t rows,
                               std::int64_t row_bytes,
                               std::int64_t to_pitch,
                               std::int64_t to_offset,
                               std::int64_t from_pitch,
                               std::int64_t from_offset,
                               std::int64_t word) {
    return {{{rows, to_pitch / word, from_pitch / word}, {row_bytes / word, 1, 1}},
            to_offset / word,
            from_offset / word};
  }

  std::size_t word;
  cuda::StridedCopy copy;
};

inline Kernel join(DeviceContext& device, Slabs<Arg<const void>> slabs, Arg<void> whole) {
  if constexpr (kHasCuda) {
    if (!device.device().is_cpu()) {
      std::vector<RowsCopy> copies;
      copies.reserve(slabs.parts.size());
      for (const auto& slab : slabs.parts) {
        copies.emplace_back(slabs.rows, slab.row_bytes, slabs.whole_row_bytes, slab.offset,
                            slab.row_bytes, 0);
      }
      return Kernel::enqueued([slabs = std::move(slabs), whole, &device, copies] {
        for (std::size_t i = 0; i < copies.size(); ++i) {
          cuda::copy_strided(device, copies[i].copy, whole.data(), slabs.parts[i].part.data(),
                             copies[i].word);
        }
      });
    }
  }
  return [slabs = std::move(slabs), whole] {
    for (const auto& slab : slabs.parts) {
      cpu::copy_rows(static_cast<char*>(whole.data()) + slab.offset, slabs.whole_row_bytes,
                     slab.part.data(), slab.row_bytes, slabs.rows, slab.row_bytes);
    }
  };
}

inline Kernel cut(DeviceContext& device, Slabs<Arg<void>> slabs, Arg<const void> whole) {
  if constexpr (kHasCuda) {
    if (!device.device().is_cpu()) {
      std::vector<RowsCopy> copies;
      copies.reserve(slabs.parts.size());
      for (const auto& slab : slabs.parts) {
        copies.emplace_back(slabs.rows, slab.row_bytes, slab.row_bytes, 0, slabs.whole_row_bytes,
                            slab.offset);
      }
      return Kernel::enqueued([slabs = std::move(slabs), whole, &device, copies] {
        for (std::size_t i = 0; i < copies.size(); ++i) {
          cuda::copy_strided(device, copies[i].copy, slabs.parts[i].part.data(), whole.data(),
                             copies[i].word);
        }
      });
    }
  }
  return [slabs = std::move(slabs), whole] {
    for (const auto& slab : slabs.parts) {
      cpu::copy_rows(slab.part.data(), slab.row_bytes,
                     static_cast<const char*>(whole.data()) + slab.offset, slabs.whole_row_bytes,
                     slabs.rows, slab.row_bytes);
    }
  };
}

// Where a part begins in the whole of this shape, in which there are `before` of the extents of
// `axis` before it; none where the part is not in one piece.
inline std::optional<std::int64_t> begin_of_part(const Shape& whole,
                                                 std::size_t axis,
                                                 std::int64_t before) {
  if (whole.product(0, axis) != 1) return std::nullopt;
  return before * whole.product(axis + 1, whole.rank());
}

// The axis of the attribute, counted from 0, of a shape.
template <class Context>
std::size_t axis_of(const Context& context, const Shape& x) {
  return normalize_axis(context.template attr<std::int64_t>("axis"), x.rank(), context.type());
}

// Of two extents.
inline std::int64_t checked_sum(const InferContext& context, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  require(!__builtin_add_overflow(a, b, &sum), context.type(),
          ": extents must have a sum that can be counted, got ", a, " and ", b);
  return sum;
}

}  // namespace fluidcore
