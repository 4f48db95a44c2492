#include "fluidcore/tensor/dlpack.h"

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

namespace {

struct Named {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
};

// Codes of DLPack: 0 int, 2 float, 4 bfloat, 6 bool.
constexpr std::array<Named, 8> kTypes = {{
    {DType::kBool, 6, 8},
    {DType::kInt16, 0, 16},
    {DType::kInt32, 0, 32},
    {DType::kInt64, 0, 64},
    {DType::kFloat16, 2, 16},
    {DType::kFloat32, 2, 32},
    {DType::kFloat64, 2, 64},
    {DType::kBFloat16, 4, 16},
}};

struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  std::vector<std::int64_t> shape;
};

bool is_dense(const DLTensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr || shape.num_elements() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    if (shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

// The elements of a tensor with strides, row by row.
Tensor dense_copy(const DLTensor& view, const TensorSpec& spec) {
  Tensor copy(spec);
  const std::size_t item = size_of(spec.dtype);
  const auto* from = static_cast<const std::byte*>(view.data) + view.byte_offset;
  auto* to = static_cast<std::byte*>(copy.raw());
  std::vector<std::int64_t> index(spec.shape.rank(), 0);
  for (std::int64_t left = spec.shape.num_elements(); left > 0; --left, to += item) {
    const std::int64_t offset =
        std::inner_product(index.begin(), index.end(), view.strides, std::int64_t{0});
    std::memcpy(to, from + offset * static_cast<std::int64_t>(item), item);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      ++index[axis];
      if (index[axis] < spec.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return copy;
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  require(tensor.is_initialized(), "dlpack: the tensor must be initialized; set() it");
  auto exported = std::make_unique<Exported>();
  exported->tensor = tensor;
  exported->shape = tensor.shape().extents();
  DLTensor& view = exported->managed.dl_tensor;
  view = {tensor.raw(),
          {tensor.device().is_cpu() ? kDlpackCpu : kDlpackCuda, tensor.device().index},
          static_cast<std::int32_t>(tensor.shape().rank()),
          {},
          exported->shape.data(),
          nullptr,
          0};
  for (const Named& type : kTypes) {
    if (type.dtype == tensor.dtype()) view.dtype = {type.code, type.bits, 1};
  }
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  return &exported.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed, bool may_copy) {
  const DLTensor& view = managed->dl_tensor;
  const bool is_cuda = kHasCuda && view.device.device_type == kDlpackCuda;
  require(is_cuda || view.device.device_type == kDlpackCpu, "dlpack: the tensor must be on the cpu",
          kHasCuda ? " or a CUDA device" : "", ", got device type ", view.device.device_type,
          "; copy it to the cpu first");
  const Device device = is_cuda ? Device{DeviceKind::kCuda, view.device.device_id} : Device();
  device_context(device).wait_for_all();  // of the producer's work
  const Named* found = nullptr;
  for (const Named& type : kTypes) {
    if (type.code == view.dtype.code && type.bits == view.dtype.bits) found = &type;
  }
  require(found != nullptr && view.dtype.lanes == 1,
          "dlpack: the dtype must be one that fluidcore has, got code ", int{view.dtype.code}, ", ",
          int{view.dtype.bits}, " bits, ", view.dtype.lanes, " lanes");
  const TensorSpec spec{Shape(std::vector<std::int64_t>(view.shape, view.shape + view.ndim)),
                        found->dtype};
  byte_size(spec);  // throws while `managed` is still the caller's
  const bool is_view = is_dense(view, spec.shape);
  require(is_view || (may_copy && device.is_cpu()),
          "dlpack: the tensor must be dense and row-major, got other strides", " for the shape ",
          spec.shape, "; make a contiguous copy first");
  std::shared_ptr<void> owner(managed, [](void* owned) {
    auto* tensor = static_cast<DLManagedTensor*>(owned);
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  });
  if (!is_view) return dense_copy(view, spec);
  return Tensor(spec, static_cast<std::byte*>(view.data) + view.byte_offset, std::move(owner),
                device);
}

}  // namespace fluidcore
