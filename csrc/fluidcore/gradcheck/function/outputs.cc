#include "fluidcore/gradcheck/function/outputs.h"

#include <algorithm>
#include <cmath>

#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"

namespace fluidcore::gradcheck {

namespace {

const std::vector<Tensor>& run_of(Function& function) {
  return interruptible(function.interruption(),
                       [&]() -> const std::vector<Tensor>& { return function.run(); });
}

}  // namespace

DType coarser(DType a, DType b) {
  return unit_roundoff(a) < unit_roundoff(b) ? b : a;
}

Outputs::Outputs(Function& function) : function_(function) {
  const std::vector<Tensor>& tensors = run_of(function_);
  std::int64_t offset = 0;
  for (std::size_t o = 0; o < tensors.size(); ++o) {
    const Tensor& tensor = tensors[o];
    require(tensor.is_initialized() && is_floating(tensor.dtype()), "gradcheck: output ", o,
            " must be floating, got ", tensor.spec());
    parts_.push_back({offset, tensor.size(), tensor.dtype(), nullptr});
    offset += tensor.size();
    coarsest_ = coarser(coarsest_, tensor.dtype());
  }
  if (coarsest_ != DType::kFloat64) converted_.resize(static_cast<std::size_t>(offset));
  base_.resize(static_cast<std::size_t>(offset));
  read(tensors);
  for (const Part& part : parts_) {
    std::copy_n(part.values, part.size, base_.data() + part.offset);
  }
}

bool Outputs::base_is_finite() const {
  return std::all_of(base_.begin(), base_.end(), [](double y) { return std::isfinite(y); });
}

void Outputs::run() {
  const std::vector<Tensor>& tensors = run_of(function_);
  bool same = tensors.size() == parts_.size();
  for (std::size_t o = 0; same && o < parts_.size(); ++o) {
    same = tensors[o].is_initialized() && tensors[o].size() == parts_[o].size &&
           tensors[o].dtype() == parts_[o].dtype;
  }
  if (!same) {
    throw Unrecoverable::because(
        InvalidArgument("gradcheck: f must return outputs of the same sizes and dtypes every time, "
                        "got others at a neighbouring point"));
  }
  read(tensors);
}

void Outputs::read(const std::vector<Tensor>& tensors) {
  for (std::size_t o = 0; o < parts_.size(); ++o) {
    Part& part = parts_[o];
    if (part.dtype == DType::kFloat64) {
      part.values = static_cast<const double*>(tensors[o].raw());
      continue;
    }
    double* out = converted_.data() + part.offset;
    visit_dtype(part.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* data = static_cast<const T*>(tensors[o].raw());
      for (std::int64_t j = 0; j < part.size; ++j) out[j] = static_cast<double>(data[j]);
    });
    part.values = out;
  }
}

}  // namespace fluidcore::gradcheck
