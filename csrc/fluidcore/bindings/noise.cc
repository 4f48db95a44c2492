#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/gradcheck.h"
#include "fluidcore/gradcheck/difference/noise.h"
#include "fluidcore/gradcheck/verdict/repetition.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using gradcheck::NoiseLevel;
using gradcheck::Repetition;

// measure_noise or noise_floor, and the runs it takes.
template <NoiseLevel measure(gradcheck::Function&, std::uint64_t, std::int64_t*)>
std::pair<NoiseLevel, std::int64_t> measured(gradcheck::Function& function, std::uint64_t seed) {
  std::int64_t evaluations = 0;
  NoiseLevel noise =
      with_interruption(function, [&] { return measure(function, seed, &evaluations); });
  return {std::move(noise), evaluations};
}

}  // namespace

void bind_noise(py::module_& m) {
  py::class_<NoiseLevel>(m, "NoiseLevel", "The rounding noise of every output, [m] or nothing.")
      .def(py::init<>())
      .def_property_readonly(
          "near", [](const NoiseLevel& self) { return to_array(self.near); },
          "On the shortest lines that tell it from f itself.")
      .def_property_readonly(
          "far", [](const NoiseLevel& self) { return to_array(self.far); },
          "On a wide line; empty where it is the same.")
      .def(
          "at_least",
          [](const NoiseLevel& self, const Numbers& least) {
            const std::span<const double> numbers = span_of(least);
            return self.at_least({numbers.begin(), numbers.end()});
          },
          py::arg("least"), "The larger of both, output by output; empty is 0.");
  m.def("measure_noise", &measured<gradcheck::measure_noise>, py::arg("function"),
        py::arg("seed") = 0, "One standard deviation; and the runs it took.");
  m.def("noise_floor", &measured<gradcheck::noise_floor>, py::arg("function"), py::arg("seed") = 0,
        "What error bars must allow for besides rounding; and the runs it took.");
  py::class_<Repetition>(m, "Repetition", "What runs of the same code at one point differ by.")
      .def(py::init([](const Numbers& first, std::size_t at_least) {
             return Repetition(span_of(first), at_least);
           }),
           py::arg("first").noconvert(), py::arg("at_least") = 2, py::keep_alive<1, 2>())
      .def_property_readonly("wants_more", &Repetition::wants_more, "Whether to run again.")
      .def(
          "add", [](Repetition& self, const Numbers& run) { self.add(span_of(run)); },
          py::arg("run"))
      .def_property_readonly("runs", &Repetition::runs)
      .def_property_readonly("repeats", &Repetition::repeats, "Whether all gave the same.")
      .def_property_readonly(
          "deviation", [](const Repetition& self) { return to_array(self.deviation()); },
          "Of each value, from run to run; empty if all repeat.")
      .def_property_readonly(
          "margin", [](const Repetition& self) { return to_array(self.margin()); },
          "What error bars must allow for: four deviations of each value.")
      .def_property_readonly("worst", &Repetition::worst, "The largest deviation.")
      .def_property_readonly("size", &Repetition::size, "The largest value of the first run.")
      .def_property_readonly("is_random", &Repetition::is_random,
                             "Whether differences of such code tell nothing.")
      .def(
          "is_rounding",
          [](const Repetition& self, const std::string& dtype) {
            return self.is_rounding(dtype_from_name(dtype));
          },
          py::arg("dtype"), "Whether rounding in another order explains it, in sums of `dtype`.");
}

}  // namespace fluidcore::bindings
