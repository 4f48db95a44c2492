#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/gradcheck.h"
#include "fluidcore/gradcheck/verdict/directional.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using gradcheck::Derivatives;
using gradcheck::Function;
using gradcheck::Judgement;
using gradcheck::OnKink;
using gradcheck::Rules;

OnKink on_kink_from(const std::string& name) {
  if (name == "fail") return OnKink::kFail;
  if (name == "skip") return OnKink::kSkip;
  require(name == "subgradient", "gradcheck: on_kink must be subgradient, fail or skip, got ",
          name);
  return OnKink::kSubgradient;
}

Judgement judge(const Derivatives& reference,
                const py::object& analytical,
                const py::object& tolerance,
                const Rules& rules) {
  const std::size_t size = reference.value.size();
  return gradcheck::judge(reference, of_size(analytical, "analytical", size),
                          of_size(tolerance, "tolerance", size), rules);
}

gradcheck::Directional check_directions(Function& function,
                                        std::int64_t input,
                                        const py::iterable& directions,
                                        const py::iterable& cotangents,
                                        const py::iterable& gradients,
                                        const Rules& rules,
                                        const std::optional<std::string>& alone,
                                        std::optional<gradcheck::Gradient*> gradient,
                                        const gradcheck::NoiseLevel& noise,
                                        std::uint64_t seed,
                                        std::int64_t workers) {
  gradcheck::DirectionalClaim claim{number_of_input(input),
                                    probes_of(directions, cotangents),
                                    {},
                                    std::nullopt,
                                    gradient.value_or(nullptr)};
  if (!claim.probes.empty()) claim.probes.front().traces = true;
  for (const py::handle a : gradients) {
    claim.gradients.push_back(doubles(a, str_cat("gradient ", claim.gradients.size())));
  }
  if (alone) claim.alone = dtype_from_name(*alone);
  const gradcheck::DirectionalOptions options{noise, workers, seed};
  return with_interruption(function, [&] {
    std::optional<gradcheck::InterruptedBy> interrupted;
    if (claim.gradient != nullptr) {
      interrupted.emplace(*claim.gradient, *function.interruption());
    }
    return gradcheck::check_directions(function, claim, rules, options);
  });
}

using Flags = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>;

// A property that shows a mask of a Judgement, without a copy.
auto mask(std::vector<std::uint8_t> Judgement::* member, bool by_element) {
  return [member, by_element](const py::object& self) {
    const auto& judgement = self.cast<const Judgement&>();
    const auto elements = std::ssize(judgement.counted);
    const std::vector<std::uint8_t>& bytes = judgement.*member;
    std::vector<py::ssize_t> shape = {elements};
    if (!by_element)
      shape.insert(shape.begin(), std::ssize(bytes) / std::max<std::ptrdiff_t>(elements, 1));
    return py::array(py::dtype::of<bool>(), std::move(shape), bytes.data(), self);
  };
}

py::array mask_array(const std::vector<std::uint8_t>& bytes) {
  return {py::dtype::of<bool>(), std::ssize(bytes), bytes.data()};
}

std::vector<std::string> doubts_of(const Judgement& self, const Flags& flags) {
  require(flags.size() == std::ssize(self.counted), "gradcheck: flags must have ",
          self.counted.size(), " elements, got ", flags.size());
  const auto found = self.doubts({flags.data(), flags.data() + flags.size()});
  return {found.begin(), found.end()};
}

// For each element the cotangent by which it is off the most, a wrong one first, and by how many
// limits.
std::pair<py::array_t<std::int64_t>, py::array_t<double>> worst_of(const Judgement& self) {
  const auto elements = self.counted.size();
  py::array_t<std::int64_t> rows(static_cast<py::ssize_t>(elements));
  py::array_t<double> excess(static_cast<py::ssize_t>(elements));
  const std::vector<std::size_t> worst = self.worst_of_each();
  for (std::size_t j = 0; j < elements; ++j) {
    const auto at = static_cast<py::ssize_t>(j);
    rows.mutable_at(at) = static_cast<std::int64_t>(worst[j] / elements);
    excess.mutable_at(at) = self.excess(worst[j]);
  }
  return {std::move(rows), std::move(excess)};
}

auto numbers(std::vector<double> Judgement::* member) {
  return [member](const py::object& self) {
    const auto& judgement = self.cast<const Judgement&>();
    const auto elements = std::ssize(judgement.counted);
    const std::vector<double>& values = judgement.*member;
    return view(self, values,
                {std::ssize(values) / std::max<std::ptrdiff_t>(elements, 1), elements});
  };
}

}  // namespace

void bind_judge(py::module_& m) {
  py::class_<Rules>(m, "Rules", "When a difference is an error.")
      .def(py::init([](double bars, double resolution, double allow_open,
                       const std::string& on_kink, double tolerance) {
             return Rules{bars, resolution, allow_open, on_kink_from(on_kink), tolerance};
           }),
           py::kw_only(), py::arg("bars") = 3.0, py::arg("resolution") = 1e-5,
           py::arg("allow_open") = 0.0, py::arg("on_kink") = "subgradient",
           py::arg("tolerance") = 0.0)
      .def_static(
          "of",
          [](const std::string& dtype, bool alone) {
            return Rules::of(dtype_from_name(dtype), alone);
          },
          py::arg("dtype"), py::arg("alone"),
          "Those of a dtype; `alone` where there is no float64 form to compare with.")
      .def_static(
          "of_formula",
          [](const std::string& dtype) { return Rules::of_formula(dtype_from_name(dtype)); },
          py::arg("dtype"), "Those of the float64 form of gradient code of a dtype.")
      .def("with_tolerance", &Rules::with_tolerance, py::arg("part"),
           "The same for gradients that are right to a relative error.")
      .def_readonly("bars", &Rules::bars, "How many error bars the truth may be off.")
      .def_readonly("resolution", &Rules::resolution,
                    "The relative error that a PASS must be able to see.")
      .def_readonly("tolerance", &Rules::tolerance, "A relative error that is right.")
      .def_readonly("allow_open", &Rules::allow_open,
                    "The part of the gradient that need not be proven for a PASS.");
  py::class_<Judgement>(m, "Judgement", "The verdict on each element: [cotangents, elements].")
      .def_property_readonly("analytical", numbers(&Judgement::analytical), "What is claimed.")
      .def_property_readonly("nearest", numbers(&Judgement::nearest),
                             "The right value that is nearest to it.")
      .def_property_readonly("limit", numbers(&Judgement::limit), "The greatest right distance.")
      .def_property_readonly("measure", numbers(&Judgement::measure),
                             "What errors are compared with.")
      .def_property_readonly("resolution", numbers(&Judgement::resolution),
                             "The smallest relative error that would have been seen.")
      .def_property_readonly("spread", numbers(&Judgement::spread),
                             "Of a kernel: the deviation of its differences from the formula; 0 "
                             "where the point alone proves it.")
      .def_property_readonly("wrong", mask(&Judgement::wrong, false))
      .def_property_readonly("unsure", mask(&Judgement::unsure, false),
                             "What is neither proven nor refuted.")
      .def_property_readonly("counted", mask(&Judgement::counted, true), "[elements].")
      .def_property_readonly(
          "verdict",
          [](const Judgement& self) {
            switch (self.verdict()) {
              case gradcheck::Verdict::kPass: return "pass";
              case gradcheck::Verdict::kFail: return "fail";
              default: return "inconclusive";
            }
          },
          "pass, fail or inconclusive.")
      .def(
          "open", [](const Judgement& self) { return mask_array(self.open()); },
          "[elements]: where more is unsure than may stay open, or a measurement has refuted it.")
      .def("doubts", &doubts_of, py::arg("flags"),
           "Why what is unsure cannot be judged, the most frequent reason first.")
      .def("worst", &worst_of,
           "[elements]: the cotangent by which each is off the most, a wrong one first, and by how "
           "many limits.")
      .def("is_proven", &Judgement::is_proven, "Whether nothing is wrong or unsure.")
      .def_readonly("num_imprecise", &Judgement::num_imprecise,
                    "Elements of a kernel that are less precise than its dtype allows.");
  using gradcheck::Directional;
  py::class_<Directional>(m, "Directional", "What random directions tell of a gradient.")
      .def_readonly("reference", &Directional::reference, "[1, directions], levels of the first.")
      .def_readonly("judgement", &Directional::judgement, "[1, directions].")
      .def_readonly("min_detectable_99", &Directional::min_detectable_99,
                    "The error of a single element that is found with a probability of 99 %, "
                    "relative to the root mean square of the gradient.")
      .def_property_readonly(
          "culprits",
          [](const Directional& self) {
            std::vector<std::tuple<std::int64_t, Derivatives, Judgement>> found;
            found.reserve(self.culprits.size());
            for (const auto& one : self.culprits) {
              found.emplace_back(one.element, one.reference, one.judgement);
            }
            return found;
          },
          "Wrong elements, what they were compared with, and the verdict on each.")
      .def_readonly("evaluations", &Directional::evaluations, "How often f ran.");
  m.def("judge", &judge, py::arg("reference"), py::arg("analytical"), py::arg("tolerance"),
        py::arg("rules"),
        "Compares derivatives with what is claimed, both [cotangents, elements].");
  m.def(
      "blind_spot", &gradcheck::blind_spot, py::arg("probes"),
      "An error of one element of limit / blind_spot escapes so many directions in 1 % of cases.");
  m.def("check_directions", &check_directions, py::arg("function"), py::arg("input"),
        py::arg("directions"), py::arg("cotangents"), py::arg("gradients"), py::arg("rules"),
        py::kw_only(), py::arg("alone") = py::none(), py::arg("gradient") = py::none(),
        py::arg("noise") = gradcheck::NoiseLevel{}, py::arg("seed") = 0, py::arg("workers") = 1,
        "Compares gradients by one input, one for each cotangent, with derivatives along as many "
        "directions, and looks for wrong elements by halves; `alone`: their dtype, where there is "
        "no float64 form; `gradient`: the code, which tells what its own rounding is, and of "
        "which branches of the function it is the gradient.");
}

}  // namespace fluidcore::bindings
