#include "fluidcore/tensor/selected_rows.h"

#include <cstring>
#include <string>
#include <utility>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/selected_rows.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

SelectedRows make(const py::object& rows, const py::object& value, std::int64_t height) {
  const Tensor numbers = tensor_from_array(rows, "SelectedRows: rows");
  const Tensor values = tensor_from_array(value, "SelectedRows: value");
  require(numbers.dtype() == DType::kInt64 && numbers.shape().rank() == 1,
          "SelectedRows: rows must be int64 [n], got ", numbers.spec());
  const std::int64_t count = numbers.size();
  require(values.shape().rank() > 0 && values.shape()[0] == count,
          "SelectedRows: value must have one row for each of the ", count, " rows, got shape ",
          values.shape());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = numbers.data<std::int64_t>()[i];
    require(row >= 0 && row < height, "SelectedRows: rows must be in [0, ", height, "), got ", row,
            " at position ", i);
  }
  TensorSpec spec{values.shape(), values.dtype(), count};
  spec.shape[0] = height;
  Tensor selected(std::move(spec));
  if (values.bytes() > 0) std::memcpy(selected.raw(), values.raw(), values.bytes());
  if (count > 0) {
    std::memcpy(row_numbers(selected.spec(), selected.raw()), numbers.raw(), numbers.bytes());
  }
  return SelectedRows(selected);
}

py::object rows(const SelectedRows& self) {
  const TensorSpec& spec = self.tensor().spec();
  const std::int64_t* numbers = row_numbers(spec, self.tensor().raw());
  return py::array_t<std::int64_t>(num_selected(spec), numbers, py::cast(Tensor(self.tensor())));
}

py::object value(const SelectedRows& self) {
  const Tensor& tensor = self.tensor();
  const Tensor held({held_shape(tensor.spec()), tensor.dtype()}, tensor.raw(),
                    std::make_shared<Tensor>(tensor));
  return tensor_to_array(held);
}

py::object rows_as_array(const SelectedRows& self,
                         const py::object& dtype,
                         const py::object& copy) {
  if (!copy.is_none() && !copy.cast<bool>()) {
    throw py::value_error("SelectedRows: an array needs a copy, got copy=False");
  }
  const py::object array = tensor_to_array(to_dense(self.tensor()));
  return dtype.is_none() ? array : py::object(array.attr("astype")(dtype));
}

}  // namespace

SelectedRows::SelectedRows(const Tensor& tensor) {
  require(tensor.spec().rows.has_value(), "variable: must hold selected rows, got ",
          tensor.is_initialized() ? to_string(tensor.spec()) : "no value", "; see get_tensor()");
  tensor_ = without_unused_rows(tensor);
}

void bind_selected_rows(py::module_& m) {
  py::class_<SelectedRows>(
      m, "SelectedRows",
      "Rows that stand for a tensor that is 0 in all others: the gradient of a table of which a "
      "few rows were read. The values of a row that is there twice add up.")
      .def(py::init(&make), py::arg("rows"), py::arg("value"), py::arg("height"))
      .def_property_readonly("rows", &rows, "int64 [n]: the numbers of the rows, in any order.")
      .def_property_readonly("value", &value, "[n, ...]: their values.")
      .def_property_readonly(
          "height", [](const SelectedRows& self) { return self.tensor().shape()[0]; },
          "How many rows the tensor has.")
      .def_property_readonly(
          "shape",
          [](const SelectedRows& self) -> py::typing::Tuple<int, py::ellipsis> {
            return py::tuple(py::cast(self.tensor().shape().extents()));
          },
          "That of the tensor.")
      .def(
          "to_dense",
          [](const SelectedRows& self) { return rows_as_array(self, py::none(), py::none()); },
          "The tensor, as an array.")
      .def("__array__", &rows_as_array, py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def("__repr__",
           [](const SelectedRows& self) {
             return str_cat("SelectedRows(", self.tensor().spec(), ")");
           })
      .def(py::pickle(
          [](const SelectedRows& self) {
            return py::make_tuple(rows(self), value(self), self.tensor().shape()[0]);
          },
          [](const py::tuple& state) {
            return make(state[0], state[1], state[2].cast<std::int64_t>());
          }));
}

}  // namespace fluidcore::bindings
