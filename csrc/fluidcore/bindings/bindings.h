#pragma once

#include <memory>
#include <string>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "fluidcore/base/error.h"
#include "fluidcore/bindings/tensor_handle.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/tensor/tensor.h"

// Each binding file adds its part of the module; module.cc is the table of contents.
namespace fluidcore::bindings {

void bind_errors(pybind11::module_& m);
void bind_dtypes(pybind11::module_& m);
void bind_program(pybind11::module_& m);
void bind_ops(pybind11::module_& m);
void bind_python_op(pybind11::module_& m);
void bind_tensor(pybind11::module_& m);
void bind_selected_rows(pybind11::module_& m);
void bind_communicator(pybind11::module_& m);
void bind_runtime(pybind11::module_& m);
void bind_gradcheck(pybind11::module_& m);
void bind_gradient_audits(pybind11::module_& m);
void bind_noise(pybind11::module_& m);
void bind_judge(pybind11::module_& m);
void bind_element_check(pybind11::module_& m);
void bind_kernel_test(pybind11::module_& m);

// The operators of this process: those that come with fluidcore, and what was added since.
OpRegistry& process_ops();

// Gives the exception the error's note, and the line of the user's code that it speaks of.
void add_note(const pybind11::handle& exception, const Error& error);

// Python's handle of a block: a program and an index, so that it stays valid when blocks are added.
struct BlockRef {
  std::shared_ptr<ProgramDesc> program;
  std::int64_t idx = 0;

  BlockDesc& get() const { return program->block(idx); }
};

// Makes pickling and copying objects of a class a TypeError that says why, and what to do instead.
template <class... Options>
void refuse_pickling(pybind11::class_<Options...>& type, const char* why) {
  type.def("__reduce__", [why](const pybind11::object& /*self*/) -> pybind11::object {
    throw pybind11::type_error(why);
  });
}

// {"factor": 2.0} <-> AttributeMap. Only bool, int, float, str, lists of one of these and
// BlockIndex are taken, and nothing is converted; `op` is named in messages.
AttributeMap attributes_from_python(const std::string& op, const pybind11::dict& attrs);
Attribute attribute_from_python(const std::string& op,
                                const std::string& name,
                                pybind11::handle value);
pybind11::object attribute_to_python(const Attribute& attribute);

pybind11::dtype array_dtype(DType dtype);
// A view of the array's memory where it is dense and row-major, else a copy.
Tensor tensor_from_array(pybind11::handle array, const std::string& who);
// A view of the tensor's memory; of selected rows, the tensor that they stand for.
pybind11::object tensor_to_array(const Tensor& tensor);

}  // namespace fluidcore::bindings
