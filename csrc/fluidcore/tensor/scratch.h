#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

// Memory that the kernels of one Plan, which run one after the other, use in turn. A kernel
// reserves what it needs when it is prepared and asks for the address each time it runs.
class Scratch {
 public:
  explicit Scratch(DeviceContext& device = device_context({})) : device_(&device) {}
  // What follows the first `offset` bytes, a multiple of 64, of `whole`: for a kernel within one
  // that needs those bytes itself.
  Scratch(std::shared_ptr<Scratch> whole, std::size_t offset)
      : device_(whole->device_), whole_(std::move(whole)), offset_(offset) {}

  void reserve(std::size_t bytes) {
    bytes_ = std::max(bytes_, bytes);
    if (whole_) whole_->reserve(offset_ + bytes_);
  }
  std::size_t bytes() const { return bytes_; }

  // As many bytes as were reserved, aligned to 64. Throws NoMemory when there is none; never once
  // it was called after the last reservation.
  std::byte* data() {
    if (whole_) return whole_->data() + offset_;
    if (allocated_ < bytes_) {
      memory_ = nullptr;
      memory_ = device_->allocate(bytes_);
      allocated_ = bytes_;
    }
    return static_cast<std::byte*>(memory_.get());
  }

 private:
  DeviceContext* device_;
  std::size_t bytes_ = 0;
  std::size_t allocated_ = 0;
  std::shared_ptr<void> memory_;
  std::shared_ptr<Scratch> whole_;
  std::size_t offset_ = 0;
};

using ScratchPtr = std::shared_ptr<Scratch>;

// Memory for some things beside each other in the scratch of a plan, and what follows them for the
// kernels inside.
class ScratchParts {
 public:
  explicit ScratchParts(ScratchPtr scratch) : scratch_(std::move(scratch)) {}

  // Where the next part begins.
  std::size_t add(std::int64_t elements, std::size_t element_bytes) {
    constexpr std::size_t kAlignment = 256;
    const std::size_t begin = bytes_;
    const std::size_t bytes = static_cast<std::size_t>(elements) * element_bytes;
    bytes_ += round_up(bytes, kAlignment);
    scratch_->reserve(bytes_);
    return begin;
  }
  ScratchPtr rest() const { return std::make_shared<Scratch>(scratch_, bytes_); }
  template <class T>
  T* at(std::size_t begin) const {
    return reinterpret_cast<T*>(scratch_->data() + begin);
  }

 private:
  ScratchPtr scratch_;
  std::size_t bytes_ = 0;
};

}  // namespace fluidcore
