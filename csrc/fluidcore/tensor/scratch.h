#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// Memory that the kernels of one Plan, which run one after the other, use in turn. A kernel
// reserves what it needs when it is prepared and asks for the address each time it runs.
class Scratch {
 public:
  void reserve(std::size_t bytes) { bytes_ = std::max(bytes_, bytes); }
  std::size_t bytes() const { return bytes_; }

  // As many bytes as were reserved, aligned to 64. Throws NoMemory when there is none; never once
  // it was called after the last reservation.
  std::byte* data() {
    if (allocated_ < bytes_) {
      memory_ = nullptr;
      memory_ = allocate(bytes_);
      allocated_ = bytes_;
    }
    return static_cast<std::byte*>(memory_.get());
  }

 private:
  std::size_t bytes_ = 0;
  std::size_t allocated_ = 0;
  std::shared_ptr<void> memory_;
};

using ScratchPtr = std::shared_ptr<Scratch>;

}  // namespace fluidcore
