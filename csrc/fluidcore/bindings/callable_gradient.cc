#include "fluidcore/bindings/callable_gradient.h"

#include <exception>
#include <string>
#include <utility>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/python_call.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"

namespace py = pybind11;

namespace fluidcore::bindings {

CallableGradient::CallableGradient(py::object vjp,
                                   const py::object& inputs,
                                   bool has_fixed_cotangent)
    : vjp_(std::move(vjp)), has_fixed_cotangent_(has_fixed_cotangent) {
  if (PyCallable_Check(vjp_.ptr()) == 0) {
    throw py::type_error(str_cat("CallableGradient: vjp must be callable, got ", type_name(vjp_)));
  }
  if (PyCallable_Check(inputs.ptr()) != 0) {
    point_ = inputs;
  } else {
    read_inputs(inputs);
  }
}

const std::vector<Tensor>& CallableGradient::inputs() const {
  if (point_) {
    const py::gil_scoped_acquire gil;
    read_inputs(std::exchange(point_, py::object())());
  }
  return inputs_;
}

void CallableGradient::read_inputs(const py::iterable& inputs) const {
  for (const py::handle input : inputs) {
    const std::string who = str_cat("CallableGradient: input ", inputs_.size());
    inputs_.push_back(tensor_from_array(input, who).clone());
    require(inputs_.back().dtype() == inputs_.front().dtype(), who, " must have the dtype of the ",
            "first, ", inputs_.front().dtype(), ", got ", inputs_.back().dtype());
  }
  require(!inputs_.empty(), "CallableGradient: there must be an input, got none");
  dtype_ = tensor_to_array(inputs_.front()).attr("dtype");
}

const std::vector<Tensor>& CallableGradient::at(const std::vector<Tensor>& x,
                                                const std::vector<Tensor>& v) {
  const py::gil_scoped_acquire gil;
  gradients_.clear();
  inputs();  // from which the dtype is known
  const auto arrays = [&](const std::vector<Tensor>& tensors) {
    py::list list;
    for (const Tensor& tensor : tensors) {
      list.append(py::array(dtype_, tensor.shape().extents(), tensor.raw(), py::cast(tensor)));
    }
    return list;
  };
  const py::object result = call_python(*this, vjp_, py::make_tuple(arrays(x), arrays(v)));
  try {
    read(result);
  } catch (...) {
    gradients_.clear();
    throw gradcheck::Unrecoverable{std::current_exception()};
  }
  return gradients_;
}

void CallableGradient::read(const py::object& result) {
  if (!py::isinstance<py::list>(result) && !py::isinstance<py::tuple>(result)) {
    throw py::type_error(str_cat("CallableGradient: vjp must return a list of arrays, got ",
                                 type_name(result), "; return [a]"));
  }
  for (const py::handle gradient : result) {
    const std::string who = str_cat("CallableGradient: gradient ", gradients_.size());
    gradients_.push_back(tensor_from_array(gradient, who));
    require(is_floating(gradients_.back().dtype()), who, " must be floating, got ",
            gradients_.back().dtype());
  }
  require(gradients_.size() == inputs_.size(), "CallableGradient: vjp must return ", inputs_.size(),
          " arrays, got ", gradients_.size());
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    require(gradients_[k].size() == inputs_[k].size(), "CallableGradient: gradient ", k,
            " must have ", inputs_[k].size(), " elements, got ", gradients_[k].size());
  }
}

}  // namespace fluidcore::bindings
