#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <pybind11/stl.h>

#include "fluidcore/base/error.h"
#include "fluidcore/bindings/bindings.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

bool is_bool(py::handle value) {
  return PyBool_Check(value.ptr());
}
bool is_int(py::handle value) {
  return PyLong_CheckExact(value.ptr());
}
bool is_float(py::handle value) {
  return PyFloat_CheckExact(value.ptr());
}
bool is_number(py::handle value) {
  return is_int(value) || is_float(value);
}
bool is_str(py::handle value) {
  return PyUnicode_CheckExact(value.ptr());
}

[[noreturn]] void reject(const std::string& op, const std::string& name, py::handle value) {
  throw InvalidArgument(op, ": attribute '", name,
                        "' must be a bool, int, float, str or a list of one of these, got ",
                        py::str(py::type::of(value).attr("__name__")).cast<std::string>(), " ",
                        py::repr(value).cast<std::string>());
}

std::int64_t to_int(const std::string& op, const std::string& name, py::handle value) {
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  require(overflow == 0, op, ": attribute '", name, "' must fit in 64 bits, got ",
          py::str(value).cast<std::string>());
  return number;
}

template <class T, class Convert>
std::vector<T> convert_all(const std::vector<py::object>& items, Convert convert) {
  std::vector<T> values;
  values.reserve(items.size());
  for (const py::object& item : items) values.push_back(convert(item));
  return values;
}

}  // namespace

Attribute attribute_from_python(const std::string& op, const std::string& name, py::handle value) {
  if (is_bool(value)) return Attribute(value.ptr() == Py_True);
  if (is_int(value)) return Attribute(to_int(op, name, value));
  if (is_float(value)) return Attribute(PyFloat_AS_DOUBLE(value.ptr()));
  if (is_str(value)) return Attribute(value.cast<std::string>());
  if (py::isinstance<BlockIndex>(value)) return Attribute(value.cast<BlockIndex>());
  if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value))
    reject(op, name, value);

  const auto items = value.cast<std::vector<py::object>>();
  const auto all = [&items](bool (*test)(py::handle)) {
    return std::all_of(items.begin(), items.end(), test);
  };
  if (all(is_int)) {
    return Attribute(
        convert_all<std::int64_t>(items, [&](py::handle item) { return to_int(op, name, item); }));
  }
  if (all(is_bool)) {
    return Attribute(
        convert_all<bool>(items, [](py::handle item) { return item.ptr() == Py_True; }));
  }
  if (all(is_number)) {
    return Attribute(
        convert_all<double>(items, [](py::handle item) { return item.cast<double>(); }));
  }
  if (all(is_str)) {
    return Attribute(
        convert_all<std::string>(items, [](py::handle item) { return item.cast<std::string>(); }));
  }
  reject(op, name, value);
}

AttributeMap attributes_from_python(const std::string& op, const py::dict& attrs) {
  AttributeMap converted;
  for (const auto& [key, value] : attrs) {
    require(is_str(key), op, ": the name of an attribute must be a str, got ",
            py::repr(key).cast<std::string>());
    auto name = key.cast<std::string>();
    Attribute attribute = attribute_from_python(op, name, value);
    converted.emplace(std::move(name), std::move(attribute));
  }
  return converted;
}

py::object attribute_to_python(const Attribute& attribute) {
  return std::visit([](const auto& value) -> py::object { return py::cast(value); },
                    static_cast<const Attribute::variant&>(attribute));
}

}  // namespace fluidcore::bindings
