#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "fluidcore/base/threads.h"
#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/calculation.h"

// NOLINTNEXTLINE
PYBIND11_MODULE(_core, m) {
  m.doc() = "C++ core of fluidcore.";
  // pybind11 looks NumPy up when it makes the first array. In a thread that the end of the process
  // cuts short, that would end in a crash.
  [[maybe_unused]] const pybind11::array first_use;
  fluidcore::survive_fork();
  fluidcore::bindings::bind_errors(m);
  fluidcore::bindings::bind_calculation(m);
  fluidcore::bindings::bind_dtypes(m);
  fluidcore::bindings::bind_program(m);
  fluidcore::bindings::bind_ops(m);
  fluidcore::bindings::bind_tensor(m);
  fluidcore::bindings::bind_selected_rows(m);
  fluidcore::bindings::bind_communicator(m);
  fluidcore::bindings::bind_runtime(m);
  fluidcore::bindings::bind_python_op(m);
  fluidcore::bindings::bind_gradcheck(m);
  fluidcore::bindings::bind_noise(m);
  fluidcore::bindings::bind_judge(m);
  fluidcore::bindings::bind_element_check(m);
  fluidcore::bindings::bind_gradient_audits(m);
  fluidcore::bindings::bind_kernel_test(m);
}
