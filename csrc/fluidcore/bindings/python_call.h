#pragma once

#include <exception>
#include <string>

#include <pybind11/pybind11.h>

#include "fluidcore/base/error.h"
#include "fluidcore/gradcheck/function/function.h"

namespace fluidcore::bindings {

// An exception of a Python function on its way through C++. Any thread may copy and destroy it.
class PythonFailure : public std::exception {
 public:
  explicit PythonFailure(const pybind11::error_already_set& error);

  const char* what() const noexcept override { return text_.c_str(); }  // "ValueError: bad"
  void restore() { error_.restore(); }  // raises it again in Python; needs the GIL; once

 private:
  pybind11::error_already_set error_;
  std::string text_;
};

// An exception that a function which a Plan calls has raised; the Plan adds where the operator was
// added. Python gets the exception itself, with that as a note.
class FailureInRun : public Error {
 public:
  explicit FailureInRun(const PythonFailure& failure) : Error(failure.what()), failure_(failure) {}

  void restore() { failure_.restore(); }

 private:
  PythonFailure failure_;
};

// f(*arguments), needs the GIL. Throws FailureInRun.
template <class... Arguments>
pybind11::object call_in_run(const pybind11::object& f, const Arguments&... arguments) {
  try {
    return f(arguments...);
  } catch (const pybind11::error_already_set& error) {
    throw FailureInRun(PythonFailure(error));
  }
}

// f(*arguments), needs the GIL. Throws PythonFailure for an Exception of f; Unrecoverable for what
// is none in Python, such as KeyboardInterrupt, and when `caller` is interrupted.
pybind11::object call_python(const gradcheck::Interruptible& caller,
                             const pybind11::object& f,
                             const pybind11::tuple& arguments);

std::string type_name(const pybind11::handle& object);  // "ndarray"

}  // namespace fluidcore::bindings
