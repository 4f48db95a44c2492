#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/callable_gradient.h"
#include "fluidcore/bindings/gradcheck.h"
#include "fluidcore/gradcheck/verdict/digits.h"
#include "fluidcore/gradcheck/verdict/kernel_test.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using gradcheck::Derivatives;
using gradcheck::FormulaGradient;
using gradcheck::Function;
using gradcheck::Gradient;
using gradcheck::GradientPair;
using gradcheck::Judgement;
using gradcheck::KernelTest;
using gradcheck::Rules;

std::unique_ptr<KernelTest> kernel_test(Gradient& kernel,
                                        Gradient& formula,
                                        Function& function,
                                        const py::iterable& cotangents,
                                        std::uint64_t seed) {
  GradientPair pair{kernel, formula, function, {}, seed};
  for (const py::handle v : cotangents) {
    std::vector<Tensor>& outputs = pair.cotangents.emplace_back();
    for (const py::handle part : v) {
      const std::string who = str_cat("KernelTest: cotangent of output ", outputs.size());
      outputs.push_back(tensor_from_array(part, who).clone());
    }
  }
  return std::make_unique<KernelTest>(std::move(pair));
}

// Calls f() without the GIL; what interrupts it ends the gradients, too.
template <class F>
auto calculate_with(const KernelTest& test, const F& f) {
  const GradientPair& pair = test.pair();
  return with_interruption(pair.f, [&] {
    const gradcheck::InterruptedBy kernel(pair.kernel, *pair.f.interruption());
    const gradcheck::InterruptedBy formula(pair.formula, *pair.f.interruption());
    return f();
  });
}

FormulaGradient formula_gradient(const KernelTest& test,
                                 std::int64_t input,
                                 const py::object& elements,
                                 const py::object& value,
                                 const py::object& kernel,
                                 const Derivatives& reference) {
  const std::size_t k = number_of_input(input);
  const std::vector<Tensor>& inputs = test.pair().kernel.inputs();
  require(k < inputs.size(), "KernelTest: input must be below ", inputs.size(), ", got ", k);
  const std::size_t rows = test.pair().cotangents.size();
  require(static_cast<std::size_t>(reference.cotangents) == rows,
          "KernelTest: the reference must be of ", rows, " cotangents, got ", reference.cotangents);
  const std::size_t size = reference.value.size();
  FormulaGradient formula{k, indices(elements).value(), of_size(value, "formula", size),
                          of_size(kernel, "kernel", size), reference};
  require(std::ssize(formula.elements) == reference.elements, "KernelTest: there must be ",
          reference.elements, " elements, got ", formula.elements.size());
  for (const std::int64_t element : formula.elements) {
    require(0 <= element && element < inputs[k].size(), "KernelTest: an element must be below ",
            inputs[k].size(), ", got ", element);
  }
  return formula;
}

std::vector<std::size_t> unproven(const KernelTest& test,
                                  std::int64_t input,
                                  const py::object& elements,
                                  const py::object& value,
                                  const py::object& kernel,
                                  const Derivatives& reference) {
  return test.unproven(formula_gradient(test, input, elements, value, kernel, reference));
}

std::optional<Judgement> judge_at_point(const KernelTest& test,
                                        std::int64_t input,
                                        const py::object& elements,
                                        const py::object& value,
                                        const py::object& kernel,
                                        const Derivatives& reference,
                                        const Rules& rules) {
  return test.judge_at_point(formula_gradient(test, input, elements, value, kernel, reference),
                             rules);
}

Judgement judge(KernelTest& test,
                std::int64_t input,
                const py::object& elements,
                const py::object& value,
                const py::object& kernel,
                const Derivatives& reference,
                const Rules& rules,
                const py::object& unsure) {
  FormulaGradient formula = formula_gradient(test, input, elements, value, kernel, reference);
  if (!unsure.is_none()) {
    const auto size = formula.elements.size();
    for (const double flag : of_size(unsure, "unsure", size)) formula.open.push_back(flag != 0);
  }
  return calculate_with(test, [&] { return test.judge(formula, rules); });
}

std::optional<std::string> narrowed_to(KernelTest& test,
                                       std::int64_t input,
                                       const py::object& elements,
                                       const py::object& value,
                                       const py::object& kernel,
                                       const Derivatives& reference,
                                       const Rules& rules) {
  const FormulaGradient formula = formula_gradient(test, input, elements, value, kernel, reference);
  const std::optional<DType> found =
      calculate_with(test, [&] { return test.narrowed_to(formula, rules); });
  return found ? std::optional(std::string(to_string(*found))) : std::nullopt;
}

}  // namespace

void bind_kernel_test(py::module_& m) {
  py::class_<Gradient> gradient(m, "Gradient", "The claimed gradient of <v, f> by all inputs.");
  refuse_pickling(gradient, "a Gradient cannot be pickled or copied; make a new one");
  py::class_<CallableGradient, Gradient>(m, "CallableGradient", "A Python function of arrays.")
      .def(py::init<py::object, const py::iterable&, bool>(), py::arg("vjp"), py::arg("inputs"),
           py::arg("has_fixed_cotangent") = false,
           "vjp takes a list of points and a list of cotangents, which it must not change, and "
           "returns a list of floating arrays.");
  py::class_<KernelTest> test(m, "KernelTest",
                              "Compares a gradient with the same in float64: is a difference "
                              "rounding, or a fault?");
  refuse_pickling(test, "a KernelTest cannot be pickled or copied; make a new one");
  test.def(py::init(&kernel_test), py::arg("kernel"), py::arg("formula"), py::arg("function"),
           py::arg("cotangents"), py::arg("seed") = 0, py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>(), py::keep_alive<1, 4>(),
           "`function` is f in float64; `cotangents` are lists of outputs, in the kernel's dtype.")
      .def("judge", &judge, py::arg("input"), py::arg("elements"), py::arg("formula"),
           py::arg("kernel"), py::arg("reference"), py::arg("rules"),
           py::arg("unsure") = py::none(),
           "The verdict on elements of the gradient by one input, `kernel`. `formula` is that in "
           "float64, `reference` what it was compared with; where it is `unsure`, [elements], "
           "nothing is known of kinks.")
      .def("unproven", &unproven, py::arg("input"), py::arg("elements"), py::arg("formula"),
           py::arg("kernel"), py::arg("reference"),
           "The columns that at the point may be farther off than rounding.")
      .def("judge_at_point", &judge_at_point, py::arg("input"), py::arg("elements"),
           py::arg("formula"), py::arg("kernel"), py::arg("reference"), py::arg("rules"),
           "The same where the gradient at the point alone proves it; else None.")
      .def("narrowed_to", &narrowed_to, py::arg("input"), py::arg("elements"), py::arg("formula"),
           py::arg("kernel"), py::arg("reference"), py::arg("rules"),
           "The narrower dtype that the kernel's gradient went through, or None.")
      .def_property_readonly("evaluations", &KernelTest::evaluations, "How often f ran.");
  m.def(
      "narrower_dtypes",
      [](const py::object& claimed, const std::string& dtype) {
        const auto count = static_cast<std::size_t>(py::len(claimed));
        std::vector<std::string> names;
        for (const DType narrow : gradcheck::narrower_dtypes(of_size(claimed, "claimed", count),
                                                             dtype_from_name(dtype))) {
          names.emplace_back(to_string(narrow));
        }
        return names;
      },
      py::arg("claimed"), py::arg("dtype"),
      "The dtypes narrower than `dtype` that every element, [n], is a number of.");
  m.def(
      "narrowed_to",
      [](const py::object& claimed, const Derivatives& reference, const std::string& dtype,
         double bars) -> std::optional<std::string> {
        const std::vector<double> values = of_size(claimed, "claimed", reference.value.size());
        const auto found = gradcheck::narrowed_to(values, reference, dtype_from_name(dtype), bars);
        return found ? std::optional(std::string(to_string(*found))) : std::nullopt;
      },
      py::arg("claimed"), py::arg("reference"), py::arg("dtype"), py::arg("bars"),
      "The narrower dtype that every element is a number of, though some should not be, or None.");
}

}  // namespace fluidcore::bindings
