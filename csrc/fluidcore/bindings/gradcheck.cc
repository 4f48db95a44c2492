#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/calculation.h"
#include "fluidcore/bindings/callable_function.h"
#include "fluidcore/bindings/callable_gradient.h"
#include "fluidcore/bindings/gradcheck.h"
#include "fluidcore/bindings/python_call.h"
#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/difference/difference.h"
#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/difference/direction.h"
#include "fluidcore/gradcheck/difference/probes.h"
#include "fluidcore/gradcheck/difference/slope.h"
#include "fluidcore/gradcheck/function/program_function.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/verdict/judge.h"

namespace py = pybind11;

namespace fluidcore::bindings {

std::vector<double> doubles(const py::handle& source, std::string_view what) {
  const Tensor tensor = tensor_from_array(source, str_cat("gradcheck: ", what));
  std::vector<double> numbers(static_cast<std::size_t>(tensor.size()));
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* data = static_cast<const T*>(tensor.raw());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(data[i]);
  });
  return numbers;
}

std::vector<double> of_size(const py::handle& source, std::string_view what, std::size_t size) {
  std::vector<double> numbers = doubles(source, what);
  require(numbers.size() == size, "gradcheck: ", what, " must have ", size, " numbers, got ",
          numbers.size());
  return numbers;
}

std::optional<std::vector<std::int64_t>> indices(const py::object& source) {
  if (source.is_none()) return std::nullopt;
  const Tensor tensor = tensor_from_array(source, "gradcheck: elements");
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(tensor.size()));
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr bool kIsIndex = std::is_integral_v<T> && !std::is_same_v<T, bool>;
    require(kIsIndex || numbers.empty(), "gradcheck: elements must be integers, got ",
            tensor.dtype());
    const auto* data = static_cast<const T*>(tensor.raw());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<std::int64_t>(data[i]);
    }
  });
  return numbers;
}

std::vector<double> noise_or_none(const py::object& noise) {
  return noise.is_none() ? std::vector<double>() : doubles(noise, "noise");
}

gradcheck::Question question_of(const py::iterable& cotangents, const py::object& noise) {
  gradcheck::Question question;
  for (const py::handle v : cotangents) {
    question.cotangents.push_back(doubles(v, str_cat("cotangent ", question.cotangents.size())));
  }
  question.noise = noise_or_none(noise);
  return question;
}

std::size_t number_of_input(std::int64_t input) {
  require(input >= 0, "gradcheck: the number of the input must be at least 0, got ", input);
  return static_cast<std::size_t>(input);
}

std::vector<gradcheck::Probe> probes_of(const py::iterable& directions,
                                        const py::iterable& cotangents) {
  std::vector<gradcheck::Probe> probes;
  for (const py::handle d : directions) {
    probes.push_back({doubles(d, str_cat("direction ", probes.size())), {}, false});
  }
  std::size_t i = 0;
  for (const py::handle v : cotangents) {
    if (i < probes.size()) probes[i].cotangent = doubles(v, str_cat("cotangent ", i));
    ++i;
  }
  require(i == probes.size(), "gradcheck: there must be a cotangent for each of the ",
          probes.size(), " directions, got ", i);
  return probes;
}

py::array_t<double> to_array(const std::vector<double>& numbers) {
  return py::array_t<double>(static_cast<py::ssize_t>(numbers.size()), numbers.data());
}

namespace {

using gradcheck::Derivatives;
using gradcheck::Function;
using gradcheck::ProgramFunction;
using gradcheck::Question;

std::optional<std::vector<double>> maybe_doubles(const py::object& source, std::string_view what) {
  if (source.is_none()) return std::nullopt;
  return doubles(source, what);
}

Derivatives differentiate(Function& function,
                          std::int64_t input,
                          const py::iterable& cotangents,
                          const py::object& elements,
                          const py::object& noise,
                          std::int64_t rows,
                          std::int64_t workers,
                          bool once) {
  const Question question = question_of(cotangents, noise);
  gradcheck::DifferentiateOptions options{indices(elements), rows, workers};
  options.approach.once = once;
  return with_interruption(function, [&] {
    return gradcheck::differentiate(function, number_of_input(input), question, options);
  });
}

gradcheck::Directions directions_of(const py::iterable& directions) {
  gradcheck::Directions along;
  for (const py::handle d : directions) {
    along.push_back(
        maybe_doubles(py::reinterpret_borrow<py::object>(d), str_cat("direction ", along.size())));
  }
  return along;
}

Derivatives differentiate_along(Function& function,
                                const py::iterable& directions,
                                const py::iterable& cotangents,
                                const py::object& noise,
                                bool trace,
                                std::int64_t workers) {
  const gradcheck::Directions along = directions_of(directions);
  const Question question = question_of(cotangents, noise);
  return with_interruption(function, [&] {
    return gradcheck::differentiate_along(function, along, question, trace, workers);
  });
}

Derivatives slope_along(Function& function,
                        const py::iterable& directions,
                        const py::object& cotangent,
                        double wanted,
                        std::optional<double> claimed) {
  gradcheck::Directions along = directions_of(directions);
  const std::vector<double> weights = doubles(cotangent, "cotangent");
  return with_interruption(function, [&] {
    return gradcheck::slope_along(function, std::move(along), weights, wanted, claimed);
  });
}

py::array_t<double> difference(Function& function,
                               std::int64_t input,
                               double delta,
                               const py::object& weights,
                               bool forward,
                               const py::object& elements,
                               std::int64_t workers) {
  const gradcheck::DifferenceOptions options{maybe_doubles(weights, "weights"), forward,
                                             indices(elements), workers};
  return to_array(with_interruption(function, [&] {
    return gradcheck::difference(function, number_of_input(input), delta, options);
  }));
}

// A property that shows an array of Derivatives, without a copy.
auto matrix(std::vector<double> Derivatives::* member) {
  return [member](const py::object& self) {
    const auto& derivatives = self.cast<const Derivatives&>();
    return view(self, derivatives.*member, {derivatives.cotangents, derivatives.elements});
  };
}

// Derivatives that were measured in parts, or changed since.
Derivatives derivatives_of(const py::array& value,
                           const py::object& error,
                           const py::object& low,
                           const py::object& high,
                           const py::object& scale,
                           const py::array_t<std::uint8_t>& flags) {
  require(value.ndim() == 2 && flags.size() == value.shape(1),
          "gradcheck: derivatives must be [cotangents, elements], and flags [elements]");
  Derivatives found(value.shape(0), value.shape(1));
  found.flags.assign(flags.data(), flags.data() + flags.size());
  found.value = doubles(value, "value");
  found.error = doubles(error, "error");
  found.low = doubles(low, "low");
  found.high = doubles(high, "high");
  found.scale = doubles(scale, "scale");
  for (const auto* part : {&found.error, &found.low, &found.high, &found.scale}) {
    require(part->size() == found.value.size(), "gradcheck: derivatives must have ",
            found.value.size(), " numbers each, got ", part->size());
  }
  return found;
}

py::array_t<double> as_matrix(const Derivatives& of, const std::vector<double>& numbers) {
  return to_array(numbers).reshape({of.cotangents, of.elements});
}

py::list levels(const Derivatives& derivatives) {
  py::list list;
  for (const gradcheck::TracedLevel& level : derivatives.levels) {
    list.append(py::make_tuple(level.step, level.difference, level.noise, level.phi_plus,
                               level.phi_minus, level.phi_0));
  }
  return list;
}

std::vector<Tensor> run_function(Function& function) {
  const auto run_once = [&] {
    std::vector<Tensor> outputs;
    for (const Tensor& tensor : function.run()) outputs.push_back(tensor.clone());
    return outputs;
  };
  return with_interruption(function, [&] { return gradcheck::with_plain_exceptions(run_once); });
}

std::unique_ptr<ProgramFunction> program_function(const ProgramDesc& program,
                                                  const py::dict& feeds,
                                                  std::vector<std::string> inputs,
                                                  std::vector<std::string> outputs,
                                                  std::uint64_t seed,
                                                  int threads) {
  NamedTensors values;
  for (const auto& [key, value] : feeds) {
    auto name = key.cast<std::string>();
    Tensor tensor = tensor_from_array(value, name);
    values.emplace_back(std::move(name), std::move(tensor));
  }
  return calculate([&](Interruption& /*interruption*/) {
    return std::make_unique<ProgramFunction>(process_ops(), program, std::move(values),
                                             std::move(inputs), std::move(outputs), seed, threads);
  });
}

void bind_functions(py::module_& m) {
  py::class_<Function> function(m, "Function", "y = f(x), what is differentiated.");
  refuse_pickling(function,
                  "a Function cannot be pickled or copied, as it holds what is prepared for this "
                  "process; make a new one");
  function
      .def(
          "inputs", [](const Function& function) { return function.inputs(); },
          "The point: who changes an element puts the old value back.")
      .def("run", &run_function, "Copies of the outputs at the inputs as they are now.");
  py::class_<ProgramFunction, Function>(m, "ProgramFunction",
                                        "What a program calculates from fed values.")
      .def(py::init(&program_function), py::arg("program"), py::arg("feeds"), py::arg("inputs"),
           py::arg("outputs"), py::arg("seed") = 0, py::arg("threads") = 1,
           "Every value, parameters too, is in `feeds`; `inputs` are those to differentiate by.");
  py::class_<CallableFunction, Function>(m, "CallableFunction", "A Python function of arrays.")
      .def(py::init<py::object, const py::iterable&>(), py::arg("f"), py::arg("inputs"),
           "f takes a list of arrays, its own copies, and returns a list of floating arrays.");
  py::class_<gradcheck::Gradient> gradient(m, "Gradient",
                                           "The claimed gradient of <v, f> by all inputs.");
  refuse_pickling(gradient, "a Gradient cannot be pickled or copied; make a new one");
  py::class_<CallableGradient, gradcheck::Gradient>(m, "CallableGradient",
                                                    "A Python function of arrays.")
      .def(
          py::init<py::object, const py::object&, bool>(), py::arg("vjp"), py::arg("inputs"),
          py::arg("has_fixed_cotangent") = false,
          "vjp takes a list of points and a list of cotangents, which it must not change, and "
          "returns a list of floating arrays. `inputs`: the point, or a function that returns it.");
}

}  // namespace

void bind_gradcheck(py::module_& m) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (PythonFailure& failure) {
      failure.restore();
    }
  });
  bind_functions(m);
  py::class_<Derivatives>(m, "Derivatives",
                          "Derivatives of <v, f> by elements of an input, with error bars; arrays "
                          "of [cotangents, elements].")
      .def(py::init(&derivatives_of), py::arg("value"), py::arg("error"), py::arg("low"),
           py::arg("high"), py::arg("scale"), py::arg("flags"))
      .def_property_readonly("value", matrix(&Derivatives::value))
      .def_property_readonly("error", matrix(&Derivatives::error),
                             "How far the truth may be from the value or outside of the hull.")
      .def_property_readonly("low", matrix(&Derivatives::low))
      .def_property_readonly("high", matrix(&Derivatives::high),
                             "[low, high] holds the one-sided derivatives at a kink.")
      .def_property_readonly("scale", matrix(&Derivatives::scale), "The sum of |v_j G_ij|.")
      .def_property_readonly(
          "flags",
          [](const py::object& self) {
            const auto& derivatives = self.cast<const Derivatives&>();
            return view(self, derivatives.flags, {derivatives.elements});
          },
          "For each element: 1 kink, 2 jump, 4 domain, 8 absorbed, 16 subgradient.")
      .def(
          "measure", [](const Derivatives& self) { return as_matrix(self, measures(self)); },
          "What errors of each element are compared with.")
      .def(
          "padded_scale",
          [](const Derivatives& self) { return as_matrix(self, padded_scale(self)); },
          "The scale, at least 1 % of the greatest.")
      .def(
          "formula_tolerance",
          [](const Derivatives& self) { return as_matrix(self, formula_tolerance(self)); },
          "Below it a formula in float64 is as good as any other.")
      .def(
          "alone_tolerance",
          [](const Derivatives& self, const std::string& dtype) {
            return as_matrix(self, alone_tolerance(self, dtype_from_name(dtype)));
          },
          py::arg("dtype"), "The rounding of a gradient without float64 form.")
      .def_readonly("evaluations", &Derivatives::evaluations, "How often f ran.")
      .def_readonly("failure", &Derivatives::failure,
                    "The text of the first exception at a moved point, or None.")
      .def_property_readonly("levels", &levels,
                             "(h, difference, noise, phi_plus, phi_minus, phi_0) of each step "
                             "size, projected on the first cotangent.");
  m.def("differentiate", &differentiate, py::arg("function"), py::arg("input"),
        py::arg("cotangents"), py::kw_only(), py::arg("elements") = py::none(),
        py::arg("noise") = py::none(), py::arg("rows") = 0, py::arg("workers") = 1,
        py::arg("once") = false,
        "The derivatives of <v, f> by elements of one input; `once`: one central difference of a "
        "small step, with the error bar of rounding alone.");
  m.def("differentiate_along", &differentiate_along, py::arg("function"), py::arg("directions"),
        py::arg("cotangents"), py::kw_only(), py::arg("noise") = py::none(),
        py::arg("trace") = false, py::arg("workers") = 1,
        "The derivative of <v, f> along one direction of all inputs.");
  m.def("slope_along", &slope_along, py::arg("function"), py::arg("directions"),
        py::arg("cotangent"), py::arg("wanted"), py::arg("claimed") = py::none(),
        "The derivative of <v, f> along one direction of all inputs, with an error bar of `wanted` "
        "in as few evaluations as it takes, fewer where it is `claimed`; it can prove a claim, but "
        "not refute it.");
  m.def("difference", &difference, py::arg("function"), py::arg("input"), py::arg("delta"),
        py::kw_only(), py::arg("weights") = py::none(), py::arg("forward") = false,
        py::arg("elements") = py::none(), py::arg("workers") = 1,
        "Plain difference quotients of the sum of the weighted outputs.");
  m.def(
      "round_direction",
      [](const py::array& direction) {
        const auto rounded = gradcheck::round_direction(doubles(direction, "direction"));
        return to_array(rounded).reshape(
            std::vector<py::ssize_t>(direction.shape(), direction.shape() + direction.ndim()));
      },
      py::arg("direction"),
      "The direction with 10 significant bits: along it, float64 inputs move without rounding.");
  m.def(
      "round_to",
      [](const std::string& dtype, double value) {
        return gradcheck::round_to(dtype_from_name(dtype), value);
      },
      py::arg("dtype"), py::arg("value"), "The value rounded once, to nearest, ties to even.");
  m.def(
      "unit_roundoff",
      [](const std::string& dtype) { return gradcheck::unit_roundoff(dtype_from_name(dtype)); },
      py::arg("dtype"), "Half the distance from 1 to the next larger number.");
}

}  // namespace fluidcore::bindings
