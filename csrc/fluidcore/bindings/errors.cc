#include <string>

#include <pybind11/pybind11.h>

#include "fluidcore/base/error.h"
#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/python_call.h"
#include "fluidcore/bindings/time_limit.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/runtime/interruption.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

// The text of a line of the user's code behind "... added at train.py:41", or "".
std::string source_line(const std::string& note) {
  constexpr std::string_view kAddedAt = "added at ";
  const std::size_t start = note.rfind(kAddedAt);
  const std::size_t colon = note.rfind(':');
  if (start == std::string::npos || colon == std::string::npos || colon < start) return "";
  const std::string file = note.substr(start + kAddedAt.size(), colon - start - kAddedAt.size());
  const py::object line = py::module_::import("linecache")
                              .attr("getline")(file, py::int_(py::str(note.substr(colon + 1))));
  return line.attr("strip")().cast<std::string>();
}

void raise(const py::object& type, const Error& error) {
  py::object exception = type(error.what());
  add_note(exception, error);
  PyErr_SetObject(type.ptr(), exception.ptr());
}

py::object new_class(py::module_& m, const char* name, const py::tuple& bases, const char* doc) {
  const std::string qualified = std::string("fluidcore.") + name;
  py::object type = py::reinterpret_steal<py::object>(
      PyErr_NewExceptionWithDoc(qualified.c_str(), doc, bases.ptr(), nullptr));
  m.attr(name) = type;
  return type;
}

}  // namespace

void add_note(const py::handle& exception, const Error& error) {
  if (error.note().empty()) return;
  const std::string line = source_line(error.note());
  exception.attr("add_note")(line.empty() ? error.note() : str_cat(error.note(), ": ", line));
}

void bind_errors(py::module_& m) {
  // Exceptions are classes of the interpreter, kept for the life of the process.
  static py::handle error;
  static py::handle invalid_argument;
  static py::handle not_found;
  static py::handle rank_failed;
  static py::handle timed_out;
  static py::handle out_of_time;
  const py::handle runtime_error(PyExc_RuntimeError);
  const py::handle value_error(PyExc_ValueError);
  const py::handle lookup_error(PyExc_LookupError);
  const py::handle connection_error(PyExc_ConnectionError);
  const py::handle timeout_error(PyExc_TimeoutError);
  error = new_class(m, "Error", py::make_tuple(runtime_error), "Root of fluidcore's exceptions.")
              .release();
  invalid_argument = new_class(m, "InvalidArgument", py::make_tuple(error, value_error),
                               "A wrong value, shape, dtype or attribute.")
                         .release();
  not_found =
      new_class(m, "NotFound", py::make_tuple(error, lookup_error), "A name that is unknown.")
          .release();
  rank_failed = new_class(m, "RankFailed", py::make_tuple(error, connection_error),
                          "Another rank has ended, or was not heard of in time.")
                    .release();
  timed_out =
      new_class(m, "TimedOut", py::make_tuple(error, timeout_error), "The time of a run was over.")
          .release();
  // No Exception, so that a check which tries points outside of the domain of f lets it through.
  const py::handle base(PyExc_BaseException);
  out_of_time = new_class(m, "OutOfTime", py::make_tuple(base), "A TimeLimit is over.").release();
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const InvalidArgument& e) {
      raise(py::reinterpret_borrow<py::object>(invalid_argument), e);
    } catch (FailureInRun& failure) {
      failure.restore();
      py::error_already_set raised;
      add_note(raised.value(), failure);
      raised.restore();
    } catch (const RankFailed& e) {
      raise(py::reinterpret_borrow<py::object>(rank_failed), e);
    } catch (const NotFound& e) {
      raise(py::reinterpret_borrow<py::object>(not_found), e);
    } catch (const TimedOut& e) {
      const py::handle type = is_out_of_time() ? out_of_time : timed_out;
      raise(py::reinterpret_borrow<py::object>(type), e);
    } catch (const Error& e) {
      raise(py::reinterpret_borrow<py::object>(error), e);
    }
  });
}

}  // namespace fluidcore::bindings
