#include "fluidcore/bindings/calculation.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <pybind11/stl.h>

#include "fluidcore/bindings/time_limit.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using Clock = Interruption::Clock;
using Seconds = Interruption::Seconds;

struct Limit {
  Seconds seconds{0};
  Clock::time_point start;

  Clock::time_point end() const {
    return start + std::chrono::duration_cast<Clock::duration>(seconds);
  }
};

// Facts of the interpreter, of which a process has one.
struct Interpreter {
  int running = 0;  // calculations; under the GIL
  std::atomic<bool> exits = false;
  std::atomic<bool> is_gone = false;  // it did not wait for them
};

Interpreter& interpreter() {
  static Interpreter one;
  return one;
}

// What the calculations that a thread begins have to know.
struct OfThread {
  int running = 0;
  std::optional<Limit> limit;
};

OfThread& of_thread() {
  thread_local OfThread one;
  return one;
}

bool is_main_thread() {
  const py::object main = py::module_::import("threading").attr("main_thread")();
  return main.attr("ident").cast<unsigned long>() == PyThread_get_thread_ident();
}

[[noreturn]] void end_thread() {
  PyErr_SetNone(PyExc_SystemExit);
  throw py::error_already_set();
}

std::optional<Limit> limit_from_now(std::optional<double> seconds, const char* who) {
  if (!seconds) return std::nullopt;
  require(*seconds > 0, who, " must be a positive number of seconds, got ", *seconds);
  constexpr double kForever = 3e9;  // a century
  if (*seconds > kForever) return std::nullopt;
  return Limit{Seconds(*seconds), Clock::now()};
}

std::optional<Limit> earlier(std::optional<Limit> one, const std::optional<Limit>& other) {
  if (!one || (other && other->end() < one->end())) return other;
  return one;
}

std::optional<Limit> limit_of(std::optional<double> seconds) {
  return earlier(limit_from_now(seconds, "run: timeout"), of_thread().limit);
}

void end_calculations() {
  Interpreter& state = interpreter();
  state.exits = true;
  while (state.running > of_thread().running) {
    {
      const py::gil_scoped_release release;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (PyErr_CheckSignals() == 0) continue;
    state.is_gone = true;
    throw py::error_already_set();
  }
}

// Ends what its thread calculates inside of the `with` block, with OutOfTime.
class TimeLimit {
 public:
  explicit TimeLimit(std::optional<double> seconds) : seconds_(seconds) {}

  void enter() {
    before_ = of_thread().limit;
    of_thread().limit = earlier(limit_from_now(seconds_, "time limit:"), before_);
  }
  void exit(const py::args& /*exception*/) { of_thread().limit = before_; }

 private:
  std::optional<double> seconds_;
  std::optional<Limit> before_;
};

}  // namespace

bool is_out_of_time() {
  const std::optional<Limit>& limit = of_thread().limit;
  return limit && Clock::now() >= limit->end();
}

Calculation::Calculation(std::optional<double> seconds) {
  Interpreter& state = interpreter();
  if (state.exits && !is_main_thread()) end_thread();
  if (const std::optional<Limit> limit = limit_of(seconds)) {
    interruption_.limit(limit->seconds, limit->start);
  }
  interruption_.set_poll([this] { poll(); });
  ++state.running;
  ++of_thread().running;
  release_.emplace();
}

Calculation::~Calculation() {
  Interpreter& state = interpreter();
  while (state.is_gone) std::this_thread::sleep_for(std::chrono::hours(1));
  release_.reset();
  --of_thread().running;
  --state.running;
}

void Calculation::poll() {
  const bool exits = interpreter().exits;
  if (is_main_ && !*is_main_ && !exits) return;
  const py::gil_scoped_acquire gil;
  if (!is_main_) is_main_ = is_main_thread();
  if (!*is_main_) {
    if (exits) end_thread();
  } else if (PyErr_CheckSignals() != 0) {
    throw py::error_already_set();
  }
}

void bind_calculation(py::module_& m) {
  py::class_<TimeLimit>(m, "TimeLimit",
                        "A context manager: ends what this thread calculates with OutOfTime.")
      .def(py::init<std::optional<double>>(), py::arg("seconds"), "None: no limit.")
      .def("__enter__", &TimeLimit::enter)
      .def("__exit__", &TimeLimit::exit);
  py::module_::import("atexit").attr("register")(py::cpp_function(&end_calculations));
  // In the child only the thread that has forked goes on.
  const py::cpp_function forget([] { interpreter().running = of_thread().running; });
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") = forget);
}

}  // namespace fluidcore::bindings
