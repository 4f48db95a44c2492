#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/gradcheck.h"
#include "fluidcore/gradcheck/verdict/digits.h"
#include "fluidcore/gradcheck/verdict/kernel_check.h"
#include "fluidcore/gradcheck/verdict/kernel_test.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using gradcheck::Derivatives;
using gradcheck::ElementCheck;
using gradcheck::FormulaGradient;
using gradcheck::Function;
using gradcheck::Gradient;
using gradcheck::GradientPair;
using gradcheck::Judgement;
using gradcheck::KernelCheck;
using gradcheck::KernelClaim;
using gradcheck::KernelTest;
using gradcheck::Rules;
using gradcheck::WholeClaim;

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

void require_elements(const std::vector<std::int64_t>& elements, const Tensor& input) {
  for (const std::int64_t element : elements) {
    require(0 <= element && element < input.size(), "KernelTest: an element must be below ",
            input.size(), ", got ", element);
  }
}

const Tensor& input_of(const KernelTest& test, std::size_t k) {
  const std::vector<Tensor>& inputs = test.pair().kernel.inputs();
  require(k < inputs.size(), "KernelTest: input must be below ", inputs.size(), ", got ", k);
  return inputs[k];
}

FormulaGradient formula_gradient(const KernelTest& test,
                                 std::int64_t input,
                                 const py::object& elements,
                                 const py::object& value,
                                 const py::object& kernel,
                                 const Derivatives& reference) {
  const std::size_t k = number_of_input(input);
  const Tensor& x = input_of(test, k);
  const std::size_t rows = test.pair().cotangents.size();
  require(static_cast<std::size_t>(reference.cotangents) == rows,
          "KernelTest: the reference must be of ", rows, " cotangents, got ", reference.cotangents);
  const std::size_t size = reference.value.size();
  FormulaGradient formula{k, indices(elements).value(), of_size(value, "formula", size),
                          of_size(kernel, "kernel", size), reference};
  require(std::ssize(formula.elements) == reference.elements, "KernelTest: there must be ",
          reference.elements, " elements, got ", formula.elements.size());
  require_elements(formula.elements, x);
  return formula;
}

Judgement judge_kernel(KernelTest& test,
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

KernelClaim claim_of(const KernelTest& test,
                     std::int64_t input,
                     const py::object& elements,
                     const py::object& formula,
                     const py::object& kernel) {
  KernelClaim claim{number_of_input(input), indices(elements).value()};
  require_elements(claim.elements, input_of(test, claim.input));
  require(!claim.elements.empty(), "KernelTest: there must be an element, got none");
  const std::size_t size = claim.elements.size() * test.pair().cotangents.size();
  claim.formula = of_size(formula, "formula", size);
  claim.kernel = of_size(kernel, "kernel", size);
  return claim;
}

KernelCheck check(KernelTest& test,
                  std::int64_t input,
                  const py::object& elements,
                  const py::object& formula,
                  const py::object& kernel,
                  const Rules& rules,
                  const std::optional<const ElementCheck*> judged) {
  const KernelClaim claim = claim_of(test, input, elements, formula, kernel);
  const ElementCheck* const by_element = judged.value_or(nullptr);
  const auto size = static_cast<std::size_t>(claim.formula.size());
  require(by_element == nullptr || by_element->reference.value.size() == size,
          "KernelTest: the formula must have been judged by the same elements");
  return calculate_with(test,
                        [&] { return gradcheck::check_kernel(test, claim, by_element, rules); });
}

std::optional<std::pair<double, double>> prove(KernelTest& test,
                                               std::int64_t input,
                                               const Numbers& formula,
                                               const Numbers& kernel,
                                               const Rules& rules) {
  const WholeClaim claim{number_of_input(input), span_of(formula), span_of(kernel)};
  const Tensor& x = input_of(test, claim.input);
  for (const std::size_t size : {claim.formula.size(), claim.kernel.size()}) {
    require(std::cmp_equal(size, x.size()), "KernelTest: each gradient must have ", x.size(),
            " elements, got ", size);
  }
  require(x.size() > 0, "KernelTest: there must be an element, got none");
  const auto found =
      calculate_with(test, [&] { return gradcheck::prove_kernel(test, claim, rules); });
  if (!found) return std::nullopt;
  return std::pair(found->resolution, found->detectable);
}

}  // namespace

void bind_kernel_test(py::module_& m) {
  py::class_<KernelCheck>(m, "KernelCheck", "The verdict on each element of a kernel's gradient.")
      .def_readonly("judgement", &KernelCheck::judgement)
      .def_readonly("exact", &KernelCheck::exact,
                    "What it was compared with; None for the differences of the formula's check.")
      .def_property_readonly("detectable", &KernelCheck::detectable,
                             "The relative error that is found in 99 % of cases.")
      .def_property_readonly(
          "narrowed_to",
          [](const KernelCheck& self) -> std::optional<std::string> {
            if (!self.narrowed_to) return std::nullopt;
            return std::string(to_string(*self.narrowed_to));
          },
          "The narrower dtype that the gradient went through, or None.");
  py::class_<KernelTest> test(m, "KernelTest",
                              "Compares a gradient with the same in float64: is a difference "
                              "rounding, or a fault?");
  refuse_pickling(test, "a KernelTest cannot be pickled or copied; make a new one");
  test.def(py::init(&kernel_test), py::arg("kernel"), py::arg("formula"), py::arg("function"),
           py::arg("cotangents"), py::arg("seed") = 0, py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>(), py::keep_alive<1, 4>(),
           "`function` is f in float64; `cotangents` are lists of outputs, in the kernel's dtype.")
      .def("judge", &judge_kernel, py::arg("input"), py::arg("elements"), py::arg("formula"),
           py::arg("kernel"), py::arg("reference"), py::arg("rules"),
           py::arg("unsure") = py::none(),
           "The verdict on elements of the gradient by one input, `kernel`. `formula` is that in "
           "float64, `reference` what it was compared with; where it is `unsure`, [elements], "
           "nothing is known of kinks.")
      .def("check", &check, py::arg("input"), py::arg("elements"), py::arg("formula"),
           py::arg("kernel"), py::arg("rules"), py::arg("judged"),
           "The whole comparison by elements of one input; `judged` is what is known of the "
           "formula's, None where that was looked at along directions.")
      .def("prove", &prove, py::arg("input"), py::arg("formula"), py::arg("kernel"),
           py::arg("rules"),
           "The resolution and the error that is found in 99 % of cases, where all elements of one "
           "input are proven for the one cotangent; else None.")
      .def_property_readonly("evaluations", &KernelTest::evaluations, "How often f ran.");
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
