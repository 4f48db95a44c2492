#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

// Copies `rows` rows of `row_bytes` bytes each; rows begin `to_stride` and `from_stride` bytes
// apart. Threads share the bytes, so that a row may be long.
inline void copy_rows(void* to,
                      std::int64_t to_stride,
                      const void* from,
                      std::int64_t from_stride,
                      std::int64_t rows,
                      std::int64_t row_bytes) {
  if (row_bytes == 0) return;
  constexpr std::int64_t kGrainBytes = std::int64_t{1} << 17;
  parallel_for(rows * row_bytes, kGrainBytes, [=](std::int64_t begin, std::int64_t end) {
    std::int64_t row = begin / row_bytes;
    for (std::int64_t at = begin - row * row_bytes; begin < end; at = 0, ++row) {
      const std::int64_t count = std::min(row_bytes - at, end - begin);
      std::memcpy(static_cast<char*>(to) + row * to_stride + at,
                  static_cast<const char*>(from) + row * from_stride + at,
                  static_cast<std::size_t>(count));
      begin += count;
    }
  });
}

}  // namespace fluidcore::cpu
