#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::gradcheck {

// The outputs of a Function as float64, flattened and concatenated: y, `size()` numbers.
class Outputs {
 public:
  // One output tensor: y[offset, offset + size).
  struct Part {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    DType dtype = DType::kFloat64;
    const double* values = nullptr;  // of the last run, until the next one
  };

  // Runs f at the point and keeps its outputs. Throws what f throws, and InvalidArgument for an
  // output that is not floating; Unrecoverable when the Function is interrupted.
  explicit Outputs(Function& function);

  std::int64_t size() const { return static_cast<std::int64_t>(base_.size()); }
  const std::vector<Part>& parts() const { return parts_; }
  const double* base() const { return base_.data(); }  // y at the point
  bool base_is_finite() const;
  DType coarsest() const { return coarsest_; }  // the dtype with the fewest digits

  // Runs f at the inputs as they are now. Throws what f throws, and Unrecoverable when the outputs
  // have other sizes or dtypes than at the point.
  void run();

 private:
  void read(const std::vector<Tensor>& tensors);

  Function& function_;
  std::vector<Part> parts_;
  std::vector<double> base_;
  std::vector<double> converted_;  // what is not float64
  DType coarsest_ = DType::kFloat64;
};

// Of two floating dtypes the one with fewer digits.
DType coarser(DType a, DType b);

}  // namespace fluidcore::gradcheck
