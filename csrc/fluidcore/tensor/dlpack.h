#pragma once

#include <cstdint>

#include "fluidcore/tensor/tensor.h"

// The binary interface of DLPack 0.8 (https://dmlc.github.io/dlpack/latest/c_api.html): how
// libraries hand tensors to each other without copying.
extern "C" {

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major and dense
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

}  // extern "C"

namespace fluidcore {

inline constexpr std::int32_t kDlpackCpu = 1;
inline constexpr std::int32_t kDlpackCuda = 2;

// A view of the tensor, on its device, where work on it may still be under way; its deleter lets go
// of the memory. The caller owns it.
DLManagedTensor* to_dlpack(const Tensor& tensor);

// Takes over `managed` and calls its deleter when the last copy of the tensor is gone. One whose
// strides are not dense and row-major is copied, if `may_copy` and on the CPU. Throws
// InvalidArgument, leaving `managed` to the caller, for another device, a dtype that fluidcore does
// not have, or strides that would need a copy.
Tensor from_dlpack(DLManagedTensor* managed, bool may_copy = false);

}  // namespace fluidcore
