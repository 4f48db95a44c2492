#pragma once

#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "fluidcore/gradcheck/function/gradient.h"

namespace fluidcore::bindings {

// A Python function vjp(list of points, list of cotangents) -> list or tuple of floating arrays, as
// many elements as each point has; it must not change its arguments. at() takes the GIL.
//
// at() throws PythonFailure for an Exception of vjp. Unrecoverable: what is no Exception in Python,
// such as KeyboardInterrupt, and results of another kind (TypeError, InvalidArgument).
class CallableGradient final : public gradcheck::Gradient {
 public:
  // Copies the inputs, which are of one dtype; those that a function returns, when they are asked
  // for. Throws TypeError unless vjp can be called.
  CallableGradient(pybind11::object vjp, const pybind11::object& inputs, bool has_fixed_cotangent);

  const std::vector<Tensor>& inputs() const override;
  bool has_fixed_cotangent() const override { return has_fixed_cotangent_; }
  const std::vector<Tensor>& at(const std::vector<Tensor>& x,
                                const std::vector<Tensor>& v) override;

 private:
  void read_inputs(const pybind11::iterable& inputs) const;
  void read(const pybind11::object& result);

  pybind11::object vjp_;
  bool has_fixed_cotangent_;
  mutable pybind11::object point_;  // returns the inputs; null: they are known
  mutable std::vector<Tensor> inputs_;
  mutable pybind11::object dtype_;
  std::vector<Tensor> gradients_;
};

}  // namespace fluidcore::bindings
