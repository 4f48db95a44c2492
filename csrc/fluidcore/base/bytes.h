#pragma once

#include <cstdint>
#include <cstring>

#include "fluidcore/base/threads.h"

namespace fluidcore {

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

}  // namespace fluidcore
