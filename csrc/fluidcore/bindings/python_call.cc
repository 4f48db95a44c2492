#include "fluidcore/bindings/python_call.h"

#include "fluidcore/base/strings.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

std::string describe(const py::error_already_set& error) {
  try {
    return str_cat(type_name(error.value()), ": ", py::str(error.value()).cast<std::string>());
  } catch (const py::error_already_set&) {
    return type_name(error.value());  // an exception that cannot be printed
  }
}

}  // namespace

PythonFailure::PythonFailure(const py::error_already_set& error)
    : error_(error), text_(describe(error)) {
}

py::object call_python(const gradcheck::Interruptible& caller,
                       const py::object& f,
                       const py::tuple& arguments) {
  try {
    return f(*arguments);
  } catch (const py::error_already_set& error) {
    // When the time is over, it may be that which has ended a calculation inside of f.
    const Interruption* const interruption = caller.interruption();
    const bool is_over = interruption != nullptr && interruption->is_over();
    if (!error.matches(PyExc_Exception) || is_over) {
      throw gradcheck::Unrecoverable::because(error);
    }
    throw PythonFailure(error);
  }
}

std::string type_name(const py::handle& object) {
  return py::type::of(object).attr("__name__").cast<std::string>();
}

}  // namespace fluidcore::bindings
