#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "fluidcore/bindings/calculation.h"
#include "fluidcore/runtime/scope.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::bindings {

// The offsets of nested sequences in the rows of a tensor, level by level.
using Lod = std::vector<std::vector<std::int64_t>>;

// Python's Tensor: one of its own, or that of a variable of a Scope, which runs may hold. Then
// whoever reads waits for the runs that write it, whoever changes it for those that read it, too.
class TensorHandle {
 public:
  TensorHandle() = default;
  explicit TensorHandle(Tensor tensor) : own_(std::move(tensor)) {}
  explicit TensorHandle(std::shared_ptr<Variable> variable) : variable_(std::move(variable)) {}

  // A copy that shares the memory.
  Tensor get() const {
    if (!variable_) return own_;
    if (auto tensor = variable_->try_read()) return *std::move(tensor);
    return calculate([&](Interruption& interruption) { return variable_->read(&interruption); });
  }

  // Calls f(tensor), without the GIL perhaps.
  template <class F>
  void change(const F& f) {
    if (!variable_) return f(own_);
    if (variable_->try_change(f)) return;
    calculate([&](Interruption& interruption) { variable_->change(f, &interruption); });
  }

  // What Python said of its rows, which nothing here looks at. Of this handle, not of the variable.
  const Lod& lod() const { return lod_; }
  void set_lod(Lod lod) { lod_ = std::move(lod); }

 private:
  Tensor own_;
  std::shared_ptr<Variable> variable_;
  Lod lod_;
};

}  // namespace fluidcore::bindings

// A function that takes or returns a Tensor takes any Tensor of Python, a copy on the host where it
// is elsewhere, and returns one of its own.
template <>
struct pybind11::detail::type_caster<fluidcore::Tensor> {
  PYBIND11_TYPE_CASTER(fluidcore::Tensor, const_name("fluidcore._core.Tensor"));

  bool load(handle source, bool /*convert*/) {
    if (!isinstance<fluidcore::bindings::TensorHandle>(source)) return false;
    value = source.cast<const fluidcore::bindings::TensorHandle&>().get().to_host();
    return true;
  }
  static handle cast(const fluidcore::Tensor& tensor, return_value_policy, handle) {
    return pybind11::cast(fluidcore::bindings::TensorHandle(tensor)).release();
  }
};
