#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/shape.h"
#include "fluidcore/kernels/cpu/transpose.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// Gives a kernel that wants the channels first an image whose channels come last, as a copy.
template <class T>
class ChannelsFirst {
 public:
  // `shape`: [batch, channels, pixels]. Where the channels do not come last, nothing is copied.
  ChannelsFirst(bool channels_last, const Shape& shape) {
    if (!channels_last) return;
    const Shape last{shape[0], shape[2], shape[1]};
    const std::vector<std::size_t> swapped{0, 2, 1};
    copy_ = Tensor({shape, dtype_of<T>});
    to_first_.emplace(last, swapped, sizeof(T));
    to_last_.emplace(shape, swapped, sizeof(T));
  }

  // For a second image of this shape.
  ChannelsFirst another() const {
    ChannelsFirst other = *this;
    if (to_first_) other.copy_ = Tensor(copy_.spec());
    return other;
  }

  // The image as the kernel reads it.
  const T* read(const T* image) const {
    if (!to_first_) return image;
    to_first_->run(copy_.raw(), image);
    return static_cast<const T*>(copy_.raw());
  }
  // Where the kernel leaves an image; to be followed by write().
  T* result(T* image) const { return to_last_ ? static_cast<T*>(copy_.raw()) : image; }
  void write(T* image) const {
    if (to_last_) to_last_->run(image, copy_.raw());
  }

 private:
  Tensor copy_;
  std::optional<cpu::Transpose> to_first_;
  std::optional<cpu::Transpose> to_last_;
};

}  // namespace fluidcore
