#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::bindings {

// A Python function f(list of arrays) -> list or tuple of floating arrays, the same number of the
// same shapes and dtypes in every call. f gets copies of its own each time; run() takes the GIL.
//
// run() throws PythonFailure for an Exception of f. Unrecoverable: what is no Exception in Python,
// such as KeyboardInterrupt, and outputs of another kind (TypeError, InvalidArgument).
class CallableFunction final : public gradcheck::Function {
 public:
  // Copies the inputs. Throws TypeError unless f can be called.
  CallableFunction(pybind11::object f, const pybind11::iterable& inputs);

  const std::vector<Tensor>& inputs() const override { return inputs_; }
  const std::vector<Tensor>& run() override;
  // Python runs one thread at a time: there is no fork.
  std::unique_ptr<Function> fork(std::optional<std::size_t> only) const override;

 private:
  pybind11::object call() const;
  void read(const pybind11::object& result);

  pybind11::object f_;
  std::vector<Tensor> inputs_;
  std::vector<pybind11::dtype> dtypes_;  // of the inputs
  std::vector<TensorSpec> specs_;        // of the outputs, once f has run
  std::vector<Tensor> outputs_;
};

}  // namespace fluidcore::bindings
