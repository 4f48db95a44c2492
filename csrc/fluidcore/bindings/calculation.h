#pragma once

#include <optional>
#include <utility>

#include <pybind11/pybind11.h>

#include "fluidcore/runtime/interruption.h"

namespace fluidcore::bindings {

// A calculation in C++ without the GIL, which is back when this has ended. Its Interruption ends it
//   - with what a signal handler of Python raises, in the main thread;
//   - with TimedOut after `seconds`, or OutOfTime at the end of a TimeLimit that this thread is in;
//   - with SystemExit, in other threads, when the interpreter exits: that waits for them, because
//     a thread that asks for the GIL afterwards would be killed in the middle of C++.
class Calculation {
 public:
  explicit Calculation(std::optional<double> seconds = std::nullopt);
  ~Calculation();
  Calculation(const Calculation&) = delete;
  Calculation& operator=(const Calculation&) = delete;

  Interruption& interruption() { return interruption_; }

 private:
  void poll();

  Interruption interruption_;
  std::optional<bool> is_main_;  // whether this is Python's main thread, once that is known
  std::optional<pybind11::gil_scoped_release> release_;
};

template <class F>
auto calculate(const F& f) {
  Calculation calculation;
  return f(calculation.interruption());
}

void bind_calculation(pybind11::module_& m);

}  // namespace fluidcore::bindings
