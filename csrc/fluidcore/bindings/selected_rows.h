#pragma once

#include "fluidcore/tensor/tensor.h"

namespace fluidcore::bindings {

// Python's SelectedRows: a copy of those that a variable held, without unused ones.
class SelectedRows {
 public:
  // Throws InvalidArgument for a tensor.
  explicit SelectedRows(const Tensor& tensor);
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

}  // namespace fluidcore::bindings
