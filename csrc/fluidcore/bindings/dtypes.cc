#include <cstdint>
#include <string>

#include <pybind11/pybind11.h>

#include "fluidcore/base/dtype.h"
#include "fluidcore/bindings/bindings.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/version.h"

namespace py = pybind11;

namespace fluidcore::bindings {

void bind_dtypes(py::module_& m) {
  m.def(
      "dtype_number",
      [](const std::string& name) { return static_cast<std::int64_t>(dtype_from_name(name)); },
      py::arg("name"), "The number of a dtype in attributes and files: 5 for 'float32'.");
  m.def(
      "dtype_name",
      [](std::int64_t number) { return std::string(to_string(dtype_from_number(number))); },
      py::arg("number"), "The name of a dtype: 'float32' for 5.");
  m.def(
      "cpu_isa", [] { return std::string(cpu::to_string(cpu::cpu_isa())); },
      "The instruction set that kernels use: 'baseline', 'avx2' or 'avx512'.");
  m.def(
      "onednn_version",
      [] {
        return kOnednnVersion.empty() ? py::object(py::none())
                                      : py::str(std::string(kOnednnVersion));
      },
      "The version of oneDNN that this build uses, or None.");
  m.def("version", [] { return std::string(kVersion); }, "The version of fluidcore.");
}

}  // namespace fluidcore::bindings
