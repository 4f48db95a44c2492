#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/callable_function.h"
#include "fluidcore/bindings/gradcheck.h"
#include "fluidcore/gradcheck/verdict/comparison.h"
#include "fluidcore/gradcheck/verdict/element_check.h"
#include "fluidcore/gradcheck/verdict/formula.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using gradcheck::Derivatives;
using gradcheck::ElementCheck;
using gradcheck::ElementClaim;
using gradcheck::Formula;
using gradcheck::Function;
using gradcheck::Gradient;
using gradcheck::Look;
using gradcheck::Rules;

// Forgets a Python function where nobody may have the GIL.
void forget(CallableFunction* function) {
  const py::gil_scoped_acquire gil;
  delete function;
}

// A Python function that may be used and forgotten where nobody has the GIL.
class CopiesFunction final : public Function {
 public:
  CopiesFunction(py::object f, const py::iterable& inputs)
      : f_(new CallableFunction(std::move(f), inputs), forget) {}

  const std::vector<Tensor>& inputs() const override { return f_->inputs(); }
  const std::vector<Tensor>& run() override {
    f_->set_interruption(interruption());
    return f_->run();
  }
  std::unique_ptr<Function> fork(std::optional<std::size_t> /*only*/) const override {
    return nullptr;
  }

 private:
  std::shared_ptr<CallableFunction> f_;
};

// `copies(input, elements)` returns None, or a function of a list of one array, and that array.
gradcheck::CopiesOf copies_of(const py::object& copies) {
  if (copies.is_none()) return nullptr;
  return [copies](std::size_t input,
                  const std::vector<std::int64_t>& elements) -> std::unique_ptr<Function> {
    const py::gil_scoped_acquire gil;
    const py::object made =
        copies(input, py::array_t<std::int64_t>(std::ssize(elements), elements.data()));
    if (made.is_none()) return nullptr;
    auto [f, x] = made.cast<std::tuple<py::object, py::object>>();
    return std::make_unique<CopiesFunction>(std::move(f), py::make_tuple(x));
  };
}

std::vector<Tensor> tensors_from_arrays(const py::handle& arrays, const std::string& what) {
  std::vector<Tensor> tensors;
  for (const py::handle one : arrays) tensors.push_back(tensor_from_array(one, what));
  return tensors;
}

std::unique_ptr<Formula> formula(Function& function,
                                 std::optional<Gradient*> given_gradient,
                                 const py::iterable& cotangents,
                                 const py::iterable& outputs,
                                 const Rules& rules,
                                 bool alone,
                                 const gradcheck::NoiseLevel& noise,
                                 std::uint64_t seed,
                                 std::int64_t workers,
                                 const py::object& copies,
                                 std::int64_t fewest_copies) {
  require(!function.inputs().empty(), "Formula: f must have an input, got none");
  std::vector<std::vector<Tensor>> weights;
  for (const py::handle v : cotangents) {
    weights.push_back(tensors_from_arrays(v, "Formula: cotangent"));
  }
  auto made =
      std::make_unique<Formula>(Formula::of(function, given_gradient.value_or(nullptr), weights,
                                            tensors_from_arrays(outputs, "Formula: output")));
  made->rules = rules;
  made->alone = alone;
  made->noise = noise;
  for (const auto* part : {&made->noise.near, &made->noise.far}) {
    require(part->empty() || part->size() == made->outputs.size(), "Formula: noise must have ",
            made->outputs.size(), " numbers, as the outputs, got ", part->size());
  }
  made->seed = seed;
  made->workers = workers;
  made->copies = copies_of(copies);
  made->fewest_copies = fewest_copies;
  return made;
}

Look look_at(const Formula& formula,
             std::int64_t input,
             const py::object& elements,
             std::int64_t rows,
             const py::object& direction) {
  Look look{number_of_input(input), indices(elements).value(), rows};
  require(look.input < formula.f.inputs().size(), "Formula: input must be below ",
          formula.f.inputs().size(), ", got ", look.input);
  const std::int64_t size = formula.f.inputs()[look.input].size();
  for (const std::int64_t element : look.elements) {
    require(0 <= element && element < size, "Formula: an element must be below ", size, ", got ",
            element);
  }
  require(rows == 0 || std::ssize(look.elements) == size,
          "Formula: of rows all elements must be looked at, ", size, ", got ",
          look.elements.size());
  look.direction = [&direction, size] {
    const py::gil_scoped_acquire gil;
    return of_size(direction(), "direction", static_cast<std::size_t>(size));
  };
  return look;
}

// Calls f() without the GIL; what interrupts it ends the gradient, too.
template <class F>
auto calculate_with(Formula& formula, const F& f) {
  return with_interruption(formula.f, [&] {
    std::optional<gradcheck::InterruptedBy> interrupted;
    if (formula.gradient != nullptr) {
      interrupted.emplace(*formula.gradient, *formula.f.interruption());
    }
    return f();
  });
}

std::optional<Derivatives> differentiate_formula(Formula& self,
                                                 std::int64_t input,
                                                 const py::object& elements,
                                                 std::int64_t rows,
                                                 const py::object& direction) {
  const Look look = look_at(self, input, elements, rows, direction);
  return calculate_with(self, [&]() -> std::optional<Derivatives> {
    auto found = gradcheck::compare(self, look, nullptr);
    return found ? std::optional(std::move(found->reference)) : std::nullopt;
  });
}

std::optional<ElementCheck> check_elements(Formula& self,
                                           std::int64_t input,
                                           const py::object& elements,
                                           std::int64_t rows,
                                           const py::object& direction,
                                           const py::object& claimed,
                                           const py::object& deviation,
                                           const py::object& overflows,
                                           const std::optional<std::string>& made_in) {
  const Look look = look_at(self, input, elements, rows, direction);
  const std::size_t size = look.elements.size();
  ElementClaim claim{of_size(claimed, "claimed", size * self.weights.size())};
  if (!deviation.is_none()) claim.deviation = of_size(deviation, "deviation", size);
  if (!overflows.is_none()) {
    for (const double one : of_size(overflows, "overflows", size)) {
      claim.overflows.push_back(one != 0);
    }
  }
  if (made_in) claim.made_in = dtype_from_name(*made_in);
  return calculate_with(self, [&] { return gradcheck::check_elements(self, look, claim); });
}

}  // namespace

void bind_element_check(py::module_& m) {
  py::class_<ElementCheck>(m, "ElementCheck", "The verdict on each element of a gradient.")
      .def_readonly("reference", &ElementCheck::reference, "The numerical derivatives.")
      .def_readonly("judgement", &ElementCheck::judgement)
      .def_property_readonly(
          "heights",
          [](const ElementCheck& self) -> std::optional<py::array_t<double>> {
            if (!self.heights) return std::nullopt;
            return to_array(*self.heights);
          },
          "[cotangents]: f over x, where the gradient is 0 as far as that tells; else None.")
      .def_readonly("along", &ElementCheck::along,
                    "The derivative along the direction that tests independent rows, or None.");
  py::class_<Formula>(m, "Formula", "Gradient code in the dtype in which f is differentiated.")
      .def(py::init(&formula), py::arg("function"), py::arg("gradient"), py::arg("cotangents"),
           py::arg("outputs"), py::arg("rules"), py::kw_only(), py::arg("alone"),
           py::arg("noise") = gradcheck::NoiseLevel{}, py::arg("seed") = 0, py::arg("workers") = 1,
           py::arg("copies") = py::none(), py::arg("fewest_copies") = 0, py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>())
      .def_readonly("evaluations", &Formula::evaluations, "How often f ran.")
      .def_readwrite("runs_on_copies", &Formula::runs_on_copies,
                     "Whether f is not known to fail on many copies of the point at once.")
      .def("differentiate", &differentiate_formula, py::arg("input"), py::arg("elements"),
           py::kw_only(), py::arg("rows"), py::arg("direction"),
           "The derivatives by elements, whatever the gradient is; None as below.")
      .def("check_elements", &check_elements, py::arg("input"), py::arg("elements"), py::kw_only(),
           py::arg("rows"), py::arg("direction"), py::arg("claimed"),
           py::arg("deviation") = py::none(), py::arg("overflows") = py::none(),
           py::arg("made_in") = py::none(),
           "The verdict on each element; None where rows depend on each other that promise not "
           "to.");
}

}  // namespace fluidcore::bindings
