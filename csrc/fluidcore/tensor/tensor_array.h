#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

class DeviceContext;

// A list of tensors of one shape and dtype that grows at its end. The memory is taken in blocks of
// many elements, and each block is given back as soon as the last of its elements has been popped.
class TensorArray {
 public:
  TensorArray() = default;
  TensorArray(TensorArray&&) = default;
  TensorArray& operator=(TensorArray&&) = default;

  // Removes every element; those that come have this spec, and are on `device`; null: on the CPU.
  void reset(const TensorSpec& element, DeviceContext* device = nullptr);

  const TensorSpec& element() const { return element_; }
  std::int64_t size() const { return size_; }

  // Where the element that is pushed next will be. Whoever writes it there has less to copy.
  void* next();
  void push(const void* data);  // copies element().bytes unless they are next(); null means zeros
  void pop(void* data);         // copies and removes the last one; throws InvalidArgument if empty
  void drop();                  // removes the last one; throws InvalidArgument if empty
  // The memory of the element that was removed last, which is there until the array changes again.
  const void* removed() const { return removed_; }

  // The element at `index`; null where nothing was written yet or beyond the end.
  const void* find(std::int64_t index) const;
  void* find(std::int64_t index);
  // Copies, or clears for null, the element at `index`; an array that is too short grows, leaving
  // out those between. Throws InvalidArgument for a negative index and for one far beyond what
  // memory can hold.
  void write(std::int64_t index, const void* data);
  void clear(std::int64_t index);  // find() gives null from now on

 private:
  // Memory for two to the power of shift_ elements; null while none of them is written.
  struct Block {
    std::shared_ptr<void> memory = nullptr;
    std::vector<bool> is_written = {};
    std::int64_t count = 0;  // of the elements that are written
  };

  std::size_t block_of(std::int64_t index) const {
    return static_cast<std::size_t>(index) >> shift_;
  }
  std::size_t place_of(std::int64_t index) const {
    return static_cast<std::size_t>(index) & ((std::size_t{1} << shift_) - 1);
  }
  std::byte* address(const Block& block, std::size_t place) const {
    return static_cast<std::byte*>(block.memory.get()) + place * bytes_;
  }
  Block& block_for(std::int64_t index);  // with memory
  const void* last() const;
  void remove(std::int64_t index);
  void give_back(Block& block);

  DeviceContext* device_ = nullptr;
  TensorSpec element_;
  std::size_t bytes_ = 0;  // of an element
  std::int64_t size_ = 0;
  int shift_ = 0;
  std::vector<Block> blocks_;
  // The last block that became empty: a program that pushes and pops one element at the edge of a
  // block must not allocate each time.
  Block spare_;
  const void* removed_ = nullptr;
};

}  // namespace fluidcore
