#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "fluidcore/base/device.h"
#include "fluidcore/base/dtype.h"
#include "fluidcore/base/error.h"
#include "fluidcore/base/shape.h"

namespace fluidcore {

// A dense, row-major block of memory on one device, the CPU unless another is named. Copies share
// the memory. May hold selected rows instead; see selected_rows.h.
class Tensor {
 public:
  Tensor() = default;  // not initialized: no memory
  // New memory, contents undefined, aligned to 64 bytes.
  explicit Tensor(TensorSpec spec, const Device& device = {});
  // A view of memory that `owner` keeps alive.
  Tensor(TensorSpec spec, void* data, std::shared_ptr<void> owner, const Device& device = {});

  bool is_initialized() const { return owner_ != nullptr; }
  const TensorSpec& spec() const { return spec_; }
  const Shape& shape() const { return spec_.shape; }
  DType dtype() const { return spec_.dtype; }
  const Device& device() const { return device_; }
  std::int64_t size() const { return size_; }  // number of elements that are held
  std::size_t bytes() const { return bytes_; }
  void* raw() const { return data_; }                        // an address on the device
  bool is_shared() const { return owner_.use_count() > 1; }  // somebody else has the memory

  // Throws InvalidArgument unless T is the tensor's dtype, and the tensor on the CPU.
  template <class T>
  T* data() const {
    require(dtype_of<T> == spec_.dtype, "tensor: holds ", spec_.dtype, ", got a request for ",
            dtype_of<T>);
    check_host();
    return static_cast<T*>(data_);
  }

  // Element `index` of the flattened tensor as a double, for every dtype. Throws InvalidArgument
  // when the index is outside or the tensor is not initialized.
  double get_float_element(std::int64_t index) const;
  // Rounds `value` to the tensor's dtype; an integer dtype takes only whole numbers in its range.
  void set_float_element(std::int64_t index, double value);

  Tensor clone() const;  // a copy with memory of its own, on the same device
  // A copy there; the tensor itself where it is there already.
  Tensor to(const Device& device) const;
  Tensor to_host() const { return to(Device()); }

 private:
  void check_index(std::int64_t index) const;
  void check_host() const;

  TensorSpec spec_;
  std::int64_t size_ = 0;
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
  Device device_;
};

// The bytes of a tensor, or of selected rows. Throws InvalidArgument for a negative extent and for
// more than an address space can hold, extents of 0 not counted, as in NumPy: no product of extents
// overflows, and a few sizes can be added.
std::size_t byte_size(const TensorSpec& spec);

// There is no memory for so many bytes.
class NoMemory : public Error {
 public:
  explicit NoMemory(std::size_t bytes)
      : Error("tensor: no memory for ", bytes, " bytes"), bytes_(bytes) {}
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
};

// New memory of `bytes` bytes, aligned to 64; never null. Throws NoMemory when there is none.
std::shared_ptr<void> allocate(std::size_t bytes);

}  // namespace fluidcore
