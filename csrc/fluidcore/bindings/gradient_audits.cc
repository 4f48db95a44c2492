#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/gradcheck.h"
#include "fluidcore/gradcheck/function/random_values.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/verdict/error_statistics.h"
#include "fluidcore/gradcheck/verdict/infinite.h"
#include "fluidcore/gradcheck/verdict/joint_direction.h"
#include "fluidcore/gradcheck/verdict/linearity.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using Array = py::array_t<double, py::array::c_style>;
using gradcheck::Deviation;
using gradcheck::Function;
using gradcheck::Proof;

// Of a triple of lists of arrays: found, first, and second or None.
gradcheck::Related related(const py::object& triple, double factor) {
  const auto arrays = std::make_shared<std::vector<Numbers>>();
  const auto spans = [&](const py::handle& gradients) {
    gradcheck::Related::Values values;
    if (gradients.is_none()) return values;
    for (const py::handle gradient : py::cast<py::iterable>(gradients)) {
      arrays->push_back(py::cast<Numbers>(gradient));
      values.push_back(span_of(arrays->back()));
    }
    return values;
  };
  const auto parts = py::cast<py::sequence>(triple);
  return {spans(parts[0]), spans(parts[1]), factor, spans(parts[2]), arrays};
}

std::vector<Tensor> cotangent_of(const py::handle& arrays, DType dtype) {
  std::vector<Tensor> v;
  for (const py::handle array : py::cast<py::iterable>(arrays)) {
    v.push_back(gradcheck::converted(tensor_from_array(array, "gradcheck: cotangent"), dtype));
  }
  return v;
}

std::vector<std::optional<Deviation>> check_linear(const py::object& gradients,
                                                   double factor,
                                                   const std::string& dtype,
                                                   const py::list& points,
                                                   const std::vector<double>& spreads,
                                                   double tolerance,
                                                   const py::object& weight,
                                                   const py::object& cotangents,
                                                   const py::object& at,
                                                   std::uint64_t seed) {
  gradcheck::Relation relation{dtype_from_name(dtype)};
  for (const double spread : spreads) relation.slack.push_back({0, spread, tolerance});
  relation.terms = [&](std::size_t k) {
    const Tensor point = tensor_from_array(points[k], "gradcheck: point");
    return py::cast<double>(weight()) / gradcheck::root_mean_square(point);
  };
  relation.cotangents = [&] {
    std::vector<std::vector<Tensor>> all;
    for (const py::handle v : py::cast<py::iterable>(cotangents())) {
      all.push_back(cotangent_of(v, relation.dtype));
    }
    return all;
  };
  relation.at = [&](const std::vector<std::vector<Tensor>>& copies) {
    py::list all;
    for (const std::vector<Tensor>& v : copies) {
      py::list arrays;
      for (const Tensor& part : v) arrays.append(tensor_to_array(part));
      all.append(std::move(arrays));
    }
    return related(at(all), factor);
  };
  relation.seed = seed;
  return gradcheck::check_linear(related(gradients, factor), relation);
}

std::array<double, 6> error_statistics(const Array& analytical,
                                       const Array& numerical,
                                       double smallest) {
  require(analytical.size() == numerical.size(), "gradcheck: there must be a number for each of ",
          analytical.size(), ", got ", numerical.size());
  const auto [relative, absolute] =
      gradcheck::error_statistics(analytical.data(), numerical.data(), analytical.size(), smallest);
  return {relative.max, relative.mean, relative.median,
          absolute.max, absolute.mean, absolute.median};
}

bool same_bits(const py::array& a, const py::array& b) {
  const py::array one = py::array::ensure(a, py::array::c_style);
  const py::array other = py::array::ensure(b, py::array::c_style);
  return one.nbytes() == other.nbytes() &&
         (one.nbytes() == 0 ||
          std::memcmp(one.data(), other.data(), static_cast<std::size_t>(one.nbytes())) == 0);
}

std::pair<std::map<std::size_t, Proof>, std::int64_t> prove_jointly(
    Function& function,
    const std::vector<std::int64_t>& inputs,
    const py::iterable& gradients,
    const py::object& cotangent,
    const gradcheck::Rules& rules,
    const std::set<std::size_t>& by_element,
    std::size_t probes,
    std::uint64_t seed,
    bool levels) {
  gradcheck::JointClaim claim;
  claim.by_element = by_element;
  claim.cotangent = doubles(cotangent, "cotangent");
  for (const std::int64_t input : inputs) claim.inputs.push_back(number_of_input(input));
  for (const py::handle gradient : gradients) {
    claim.gradients.push_back(tensor_from_array(gradient, "gradcheck: gradient"));
  }
  gradcheck::Proofs found = with_interruption(function, [&] {
    return gradcheck::prove_jointly(function, claim, rules, {probes, seed, levels});
  });
  return {std::move(found.of), found.evaluations};
}

std::pair<std::optional<py::array_t<bool>>, std::int64_t> check_infinite(
    Function& function,
    std::int64_t input,
    const py::object& claimed,
    const py::object& cotangent,
    double bars,
    const py::object& noise) {
  const gradcheck::Question question{{doubles(cotangent, "cotangent")}, noise_or_none(noise)};
  const std::vector<double> gradient = doubles(claimed, "gradient");
  const gradcheck::Infinite found = with_interruption(function, [&] {
    return gradcheck::check_infinite(function, number_of_input(input), gradient, question, bars);
  });
  if (found.wrong) return {std::nullopt, found.evaluations};
  py::array_t<bool> infinite(static_cast<py::ssize_t>(gradient.size()));
  std::fill_n(infinite.mutable_data(), gradient.size(), false);
  std::copy(found.infinite.begin(), found.infinite.end(), infinite.mutable_data());
  return {infinite, found.evaluations};
}

py::list levels_of(const Proof& proof) {
  py::list list;
  for (const gradcheck::TracedLevel& level : proof.levels) {
    const double remainder = level.phi_plus - level.phi_0 - level.step * proof.claimed;
    list.append(py::make_tuple(level.step, level.difference, level.noise, std::abs(remainder)));
  }
  return list;
}

}  // namespace

void bind_gradient_audits(py::module_& m) {
  py::class_<Deviation>(m, "Deviation", "The element that is off the most.")
      .def_readonly("element", &Deviation::element)
      .def_readonly("found", &Deviation::found)
      .def_readonly("expected", &Deviation::expected)
      .def_property_readonly(
          "verdict",
          [](const Deviation& self) {
            return std::array{"pass", "inconclusive",
                              "fail"}[static_cast<std::size_t>(self.linear)];
          },
          "Whether that is no more than rounding allows for; INCONCLUSIVE where it is, and "
          "scatters as much for other cotangents.");
  m.def("check_linear", &check_linear, py::arg("gradients"), py::arg("factor"), py::kw_only(),
        py::arg("dtype"), py::arg("points"), py::arg("spreads"), py::arg("tolerance"),
        py::arg("weight"), py::arg("cotangents"), py::arg("at"), py::arg("seed"),
        "By input: where found is off factor * first + second the most, if anywhere. `gradients`, "
        "and what at(cotangents) returns, are (found, first, second or None), in `dtype`. The "
        "functions are called only where something seems wrong: weight(), the sum of |v y|, "
        "and cotangents(), of first and second.");
  m.def(
      "same_bits", &same_bits, py::arg("a"), py::arg("b"),
      "Whether two arrays of one shape and dtype hold the same bits, signs of zeros and NaNs too.");
  m.def("error_statistics", &error_statistics, py::arg("analytical"), py::arg("numerical"),
        py::arg("smallest"),
        "The largest, mean and median of |a - n| / max(|a|, |n|, smallest), and those of |a - n|.");
  m.def("check_infinite", &check_infinite, py::arg("function"), py::arg("input"),
        py::arg("gradient"), py::arg("cotangent"), py::kw_only(), py::arg("bars"),
        py::arg("noise") = py::none(),
        "[n]: where a gradient that is not finite may be infinite, None where it is wrong; and the "
        "evaluations of f.");
  m.def(
      "may_be_infinite",
      [](double claimed, double derivative, const std::string& dtype) {
        return gradcheck::may_be_infinite(claimed, derivative, derivative, dtype_from_name(dtype));
      },
      py::arg("claimed"), py::arg("derivative"), py::arg("dtype"),
      "Whether an infinity may stand for a derivative that `dtype` cannot hold.");
  py::class_<Proof>(m, "Proof", "What one direction says of the gradient A by one input.")
      .def_readonly("analytical", &Proof::analytical, "<A, d>.")
      .def_readonly("numerical", &Proof::numerical,
                    "The same by differences, if the other inputs are right.")
      .def_readonly("error", &Proof::error, "Its error bar.")
      .def_readonly("resolution", &Proof::resolution,
                    "The relative error of <A, d> that would have been reported.")
      .def_readonly("min_detectable_99", &Proof::min_detectable_99,
                    "The error of any one element that would have been reported, relative to the "
                    "root mean square of the gradient.")
      .def_property_readonly("levels", &levels_of,
                             "(h, difference, noise, remainder) of each step along all inputs.");
  m.def("prove_jointly", &prove_jointly, py::arg("function"), py::arg("inputs"),
        py::arg("gradients"), py::arg("cotangent"), py::arg("rules"), py::kw_only(),
        py::arg("by_element"), py::arg("probes"), py::arg("seed") = 0, py::arg("levels") = false,
        "{input: Proof} of the gradients by some inputs that directions of several of them prove; "
        "and the evaluations of f. `by_element`: those of which an error of any one element must "
        "have been seen that a look at each sees.");
}

}  // namespace fluidcore::bindings
