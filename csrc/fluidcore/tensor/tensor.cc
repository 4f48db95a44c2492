#include "fluidcore/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/tensor/device_context.h"
#include "fluidcore/tensor/selected_rows.h"

namespace fluidcore {

namespace {

constexpr std::size_t kAlignment = 64;

// True when `value` is a whole number that T can hold.
template <class T>
bool fits(double value) {
  // The upper bound max + 1 is a power of two, so it is exact as a double; max need not be.
  const double bound = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value == std::floor(value) &&
         value >= static_cast<double>(std::numeric_limits<T>::min()) && value < bound;
}

}  // namespace

std::shared_ptr<void> allocate(std::size_t bytes) {
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  void* memory = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) throw NoMemory(bytes);
  return {memory, std::free};
}

std::size_t byte_size(const TensorSpec& spec) {
  constexpr std::int64_t kAddressSpace = std::int64_t{1} << 47;
  const Shape held = held_shape(spec);
  auto most = kAddressSpace / static_cast<std::int64_t>(size_of(spec.dtype));
  for (const std::int64_t extent : held) {
    require(extent >= 0, "tensor: extents must be at least 0, got ", held);
    require(extent <= most, "tensor: must fit in memory, got ", spec);
    most /= std::max<std::int64_t>(extent, 1);
  }
  if (!spec.rows) return static_cast<std::size_t>(held.num_elements()) * size_of(spec.dtype);
  require(*spec.rows <= kAddressSpace / 8, "tensor: must fit in memory, got ", spec);
  return offset_of_rows(spec) + static_cast<std::size_t>(*spec.rows) * sizeof(std::int64_t);
}

Tensor::Tensor(TensorSpec spec, const Device& device) : spec_(std::move(spec)), device_(device) {
  bytes_ = byte_size(spec_);
  owner_ = device_.is_cpu() ? allocate(bytes_) : device_context(device_).allocate(bytes_);
  size_ = held_shape(spec_).num_elements();
  data_ = owner_.get();
}

Tensor::Tensor(TensorSpec spec, void* data, std::shared_ptr<void> owner, const Device& device)
    : spec_(std::move(spec)),
      size_(held_shape(spec_).num_elements()),
      bytes_(byte_size(spec_)),
      data_(data),
      owner_(std::move(owner)),
      device_(device) {
}

void Tensor::check_index(std::int64_t index) const {
  require(is_initialized(), "tensor: must be initialized before its elements are used; set() it");
  require(index >= 0 && index < size_, "tensor: index must be in [0, ", size_,
          ") for a tensor of shape ", spec_.shape, ", got ", index);
}

void Tensor::check_host() const {
  require(device_.is_cpu(), "tensor: must be on the cpu, got one on ", device_,
          "; copy it to the cpu first");
}

double Tensor::get_float_element(std::int64_t index) const {
  check_index(index);
  return visit_dtype(spec_.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const at = static_cast<const T*>(data_) + index;
    if (device_.is_cpu()) return static_cast<double>(*at);
    T element = {};
    device_context(device_).copy_out(&element, at, sizeof(T));
    return static_cast<double>(element);
  });
}

void Tensor::set_float_element(std::int64_t index, double value) {
  check_index(index);
  visit_dtype(spec_.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      require(fits<T>(value), "tensor: an element of ", spec_.dtype,
              " must be a whole number in its range, got ", value);
    }
    const auto element = static_cast<T>(static_cast<ComputeType<T>>(value));
    T* const at = static_cast<T*>(data_) + index;
    if (device_.is_cpu()) {
      *at = element;
    } else {
      device_context(device_).copy_in(at, &element, sizeof(T));
    }
  });
}

Tensor Tensor::clone() const {
  if (!is_initialized()) return {};
  Tensor copy(spec_, device_);
  device_context(device_).copy(copy.data_, data_, bytes());
  return copy;
}

Tensor Tensor::to(const Device& device) const {
  if (!is_initialized() || device == device_) return *this;
  Tensor copy(spec_, device);
  if (device.is_cpu()) {
    device_context(device_).copy_out(copy.data_, data_, bytes());
  } else {
    const Tensor host = to_host();
    device_context(device).copy_in(copy.data_, host.data_, bytes());
  }
  return copy;
}

}  // namespace fluidcore
