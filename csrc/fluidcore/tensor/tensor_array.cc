#include "fluidcore/tensor/tensor_array.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16;
// A table of blocks that is longer than this could not be filled: an index beyond is a mistake.
constexpr std::size_t kMaxBlocks = std::size_t{1} << 20;

DeviceContext& context_of(DeviceContext* device) {
  return device == nullptr ? device_context({}) : *device;
}

void copy(DeviceContext* device, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from) context_of(device).copy(to, from, bytes);
}

void copy_or_clear(DeviceContext* device, void* to, const void* from, std::size_t bytes) {
  if (from != nullptr) {
    copy(device, to, from, bytes);
  } else {
    context_of(device).zero(to, bytes);
  }
}

}  // namespace

void TensorArray::reset(const TensorSpec& element, DeviceContext* device) {
  device_ = device;
  // Of elements that are not known none comes.
  const std::size_t bytes = element.shape.is_known() ? byte_size(element) : 0;
  for (Block& block : blocks_) {
    if (block.memory) give_back(block);
  }
  blocks_.clear();
  if (bytes != bytes_) spare_ = Block();
  element_ = element;
  bytes_ = bytes;
  size_ = 0;
  const std::size_t per_block = kBlockBytes / std::clamp<std::size_t>(bytes, 1, kBlockBytes);
  shift_ = static_cast<int>(std::bit_width(per_block)) - 1;
}

TensorArray::Block& TensorArray::block_for(std::int64_t index) {
  const std::size_t number = block_of(index);
  if (number >= blocks_.size()) {
    require(number < kMaxBlocks, "tensor array: an index must be less than ", kMaxBlocks << shift_,
            " for elements of ", element_, ", got ", index);
    blocks_.resize(number + 1);
  }
  Block& block = blocks_[number];
  if (!block.memory) std::swap(block, spare_);
  if (!block.memory) {
    block.is_written.resize(std::size_t{1} << shift_);
    block.memory = context_of(device_).allocate(bytes_ << shift_);
  }
  return block;
}

void* TensorArray::next() {
  return address(block_for(size_), place_of(size_));
}

void TensorArray::push(const void* data) {
  write(size_, data);
}

void TensorArray::write(std::int64_t index, const void* data) {
  require(index >= 0, "tensor array: an index must be at least 0, got ", index);
  Block& block = block_for(index);
  const std::size_t place = place_of(index);
  if (!block.is_written[place]) {
    block.is_written[place] = true;
    ++block.count;
  }
  copy_or_clear(device_, address(block, place), data, bytes_);
  size_ = std::max(size_, index + 1);
}

const void* TensorArray::last() const {
  require(size_ > 0, "tensor array: must hold an element to be popped, got an empty array");
  const void* data = find(size_ - 1);
  require(data != nullptr, "tensor array: the element to be popped must have been written, got ",
          "nothing at index ", size_ - 1);
  return data;
}

void TensorArray::pop(void* data) {
  copy(device_, data, last(), bytes_);
  drop();
}

void TensorArray::drop() {
  removed_ = last();
  remove(--size_);
}

void TensorArray::remove(std::int64_t index) {
  Block& block = blocks_[block_of(index)];
  block.is_written[place_of(index)] = false;
  if (--block.count > 0) return;
  give_back(block);
  while (!blocks_.empty() && !blocks_.back().memory) blocks_.pop_back();
}

void TensorArray::give_back(Block& block) {
  if (block.count > 0) std::fill(block.is_written.begin(), block.is_written.end(), false);
  block.count = 0;
  spare_ = std::exchange(block, Block());
}

const void* TensorArray::find(std::int64_t index) const {
  if (index < 0 || index >= size_ || block_of(index) >= blocks_.size()) return nullptr;
  const Block& block = blocks_[block_of(index)];
  const std::size_t place = place_of(index);
  return block.memory && block.is_written[place] ? address(block, place) : nullptr;
}

void* TensorArray::find(std::int64_t index) {
  return const_cast<void*>(std::as_const(*this).find(index));
}

void TensorArray::clear(std::int64_t index) {
  if (find(index) != nullptr) remove(index);
}

}  // namespace fluidcore
