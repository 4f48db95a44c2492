#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/base/error.h"
#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/places.h"
#include "fluidcore/bindings/python_call.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/runtime/thread_group.h"
#include "fluidcore/tensor/device_context.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

// A Communicator that is written in Python.
class PythonCommunicator : public Communicator {
 public:
  using Communicator::Communicator;

  Request iallreduce(const Elements& own, const Elements& sum, const std::string& label) override {
    return call<Request>("iallreduce", [&](const py::object& f) {
      return call_in_run(f, array(own), array(sum), label);
    });
  }
  Request ireduce_scatter(const Elements& own,
                          const Elements& part,
                          const std::string& label) override {
    return call<Request>("ireduce_scatter", [&](const py::object& f) {
      return call_in_run(f, array(own), array(part), label);
    });
  }
  Request ibroadcast(const Elements& elements, int root, const std::string& label) override {
    return call<Request>("ibroadcast", [&](const py::object& f) {
      return call_in_run(f, bytes(elements, elements.data), root, label);
    });
  }
  Request iallgather(const Elements& own, void* all, const std::string& label) override {
    return call<Request>("iallgather", [&](const py::object& f) {
      const Elements whole{all, own.size * size(), own.dtype};
      return call_in_run(f, bytes(own, own.data), bytes(whole, all), label);
    });
  }
  void wait(Request request) override {
    call<void>("wait", [&](const py::object& f) { return call_in_run(f, request); });
  }
  void check() override {
    call<void>("check", [](const py::object& f) {
      if (PyErr_CheckSignals() != 0) throw FailureInRun(PythonFailure(py::error_already_set()));
      return call_in_run(f);
    });
  }
  void fail(const std::string& why) noexcept override {
    try {
      call<void>("fail", [&](const py::object& f) { return call_in_run(f, why); });
    } catch (...) {  // NOLINT(bugprone-empty-catch): the run fails with its own error
    }
  }

 private:
  template <class Result, class F>
  Result call(const char* name, const F& f) {
    const py::gil_scoped_acquire gil;
    const py::function method = py::get_override(static_cast<const Communicator*>(this), name);
    require(static_cast<bool>(method), "communicator: a class must define ", name, "(), got none");
    const py::object result = f(method);
    if constexpr (!std::is_void_v<Result>) return result.cast<Result>();
  }

  // Of the elements' own memory, which it keeps.
  static py::array array(const Elements& elements) {
    using Owner = std::shared_ptr<const void>;
    const py::capsule owner(new Owner(elements.owner),
                            [](void* held) { delete static_cast<Owner*>(held); });
    return {array_dtype(elements.dtype), {elements.size}, elements.data, owner};
  }
  static py::array bytes(const Elements& elements, void* data) {
    return {py::dtype::of<std::uint8_t>(), {elements.bytes()}, data, py::none()};
  }
};

// Whole numbers of every rank, by rank.
py::array_t<std::int64_t> gather(Communicator& communicator,
                                 const std::vector<std::int64_t>& own,
                                 const std::string& label) {
  std::vector<std::int64_t> mine = own;
  const auto count = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(communicator.size()));
  {
    const py::gil_scoped_release release;
    communicator.wait(
        communicator.iallgather({mine.data(), count, DType::kInt64}, all.data(), label));
  }
  py::array_t<std::int64_t> result({std::int64_t{communicator.size()}, count});
  std::copy(all.begin(), all.end(), result.mutable_data());
  return result;
}

}  // namespace

void bind_communicator(py::module_& m) {
  py::class_<Communicator, PythonCommunicator, std::shared_ptr<Communicator>> communicator(
      m, "Communicator", "A member of a group of processes, or threads, that train together.");
  refuse_pickling(communicator,
                  "a Communicator cannot be pickled or copied, as it is of this process; each "
                  "process makes its own");
  communicator.def(py::init<int, int>(), py::arg("rank"), py::arg("size"))
      .def_property_readonly("rank", &Communicator::rank, "Which member this is, from 0.")
      .def_property_readonly("size", &Communicator::size, "How many members there are.")
      .def("gather", &gather, py::arg("own"), py::arg("label"),
           "Whole numbers of every rank, int64 [size, len(own)]; all ranks give as many.")
      .def(
          "transport",
          [](Communicator& self, const py::object& place) {
            DeviceContext& device = device_context(device_of(place));
            const py::gil_scoped_release release;
            return self.on(device).transport();
          },
          py::arg("place"),
          "How tensors of a device are exchanged, \"nccl\" or \"host\"; all ranks call it.")
      .def(
          "fail",
          [](Communicator& self, const std::string& why) {
            const py::gil_scoped_release release;
            self.fail(why);
          },
          py::arg("why"), "Tells the other ranks that this one cannot go on.");
  m.def(
      "thread_group",
      [](int size, double timeout) {
        return thread_group(size, std::chrono::duration<double>(timeout));
      },
      py::arg("size"), py::arg("timeout") = 60.0,
      "Communicators for as many threads of this process, by rank.");
}

}  // namespace fluidcore::bindings
