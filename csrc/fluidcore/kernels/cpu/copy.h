#pragma once

#include <cstdint>
#include <cstring>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

// Copies bytes, on several threads if there are many. Nothing to do when both are the same memory;
// otherwise the two must not overlap.
inline void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (to == from) return;
  constexpr std::int64_t kGrainBytes = std::int64_t{1} << 18;
  parallel_for(bytes, kGrainBytes, [=](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

// Sets bytes to 0, on several threads if there are many.
inline void zero_bytes(void* to, std::int64_t bytes) {
  constexpr std::int64_t kGrainBytes = std::int64_t{1} << 18;
  parallel_for(bytes, kGrainBytes, [=](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<char*>(to) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

// Copies `rows` rows of `row_bytes` bytes each; rows begin `to_stride` and `from_stride` bytes
// apart.
inline void copy_rows(void* to,
                      std::int64_t to_stride,
                      const void* from,
                      std::int64_t from_stride,
                      std::int64_t rows,
                      std::int64_t row_bytes) {
  if (row_bytes == 0) return;
  constexpr std::int64_t kGrainBytes = std::int64_t{1} << 17;
  parallel_for(rows, kGrainBytes / row_bytes, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::memcpy(static_cast<char*>(to) + row * to_stride,
                  static_cast<const char*>(from) + row * from_stride,
                  static_cast<std::size_t>(row_bytes));
    }
  });
}

}  // namespace fluidcore::cpu
