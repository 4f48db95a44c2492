#include "fluidcore/bindings/callable_function.h"

#include <exception>
#include <string>
#include <utility>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/python_call.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"

namespace py = pybind11;

namespace fluidcore::bindings {

CallableFunction::CallableFunction(py::object f, const py::iterable& inputs) : f_(std::move(f)) {
  if (PyCallable_Check(f_.ptr()) == 0) {
    throw py::type_error(str_cat("CallableFunction: f must be callable, got ", type_name(f_)));
  }
  for (const py::handle input : inputs) {
    const std::string who = str_cat("CallableFunction: input ", inputs_.size());
    inputs_.push_back(tensor_from_array(input, who).clone());
    dtypes_.push_back(tensor_to_array(inputs_.back()).attr("dtype"));
  }
}

std::unique_ptr<gradcheck::Function> CallableFunction::fork(
    std::optional<std::size_t> /*only*/) const {
  return nullptr;
}

const std::vector<Tensor>& CallableFunction::run() {
  const py::gil_scoped_acquire gil;
  outputs_.clear();
  const py::object result = call();
  try {
    read(result);
  } catch (...) {
    outputs_.clear();
    throw gradcheck::Unrecoverable{std::current_exception()};
  }
  return outputs_;
}

py::object CallableFunction::call() const {
  py::list copies;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    copies.append(py::array(dtypes_[k], inputs_[k].shape().extents(), inputs_[k].raw()));
  }
  return call_python(*this, f_, py::make_tuple(copies));
}

void CallableFunction::read(const py::object& result) {
  if (!py::isinstance<py::list>(result) && !py::isinstance<py::tuple>(result)) {
    throw py::type_error(str_cat("CallableFunction: f must return a list of arrays, got ",
                                 type_name(result), "; return [y]"));
  }
  for (const py::handle output : result) {
    const std::string who = str_cat("CallableFunction: output ", outputs_.size(), " of f");
    if (output.is_none()) throw py::type_error(str_cat(who, " must be an array, got None"));
    outputs_.push_back(tensor_from_array(output, who));
    require(is_floating(outputs_.back().dtype()), who, " must be floating, got ",
            outputs_.back().dtype());
  }
  std::vector<TensorSpec> specs;
  specs.reserve(outputs_.size());
  for (const Tensor& output : outputs_) specs.push_back(output.spec());
  if (specs_.empty()) specs_ = specs;
  require(specs.size() == specs_.size(),
          "CallableFunction: f must return as many outputs every time, got ", specs.size(),
          " after ", specs_.size());
  for (std::size_t o = 0; o < specs.size(); ++o) {
    require(specs[o] == specs_[o], "CallableFunction: output ", o,
            " of f must have the same shape and dtype every time, got ", specs[o], " after ",
            specs_[o]);
  }
}

}  // namespace fluidcore::bindings
