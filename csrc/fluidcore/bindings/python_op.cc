#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/python_call.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/op_library.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using Named = std::vector<std::pair<std::string, std::string>>;  // name, documentation
using Names = std::vector<std::string>;

// Something of Python's that any thread may let go.
template <class T>
std::shared_ptr<const T> shared(T held) {
  return {new T(std::move(held)), [](const T* last) {
            const py::gil_scoped_acquire gil;
            delete last;
          }};
}

py::dict attrs_of(const AttributeMap& attrs) {
  py::dict values;
  for (const auto& [name, value] : attrs) values[py::str(name)] = attribute_to_python(value);
  return values;
}

// A variable as a formula gets it.
struct View {
  std::string slot;
  py::str key;
  py::dtype dtype;
  const Cell* cell;
  bool is_written;

  View(std::string name, const Cell* variable, bool is_output)
      : slot(std::move(name)),
        key(slot),
        dtype(array_dtype(variable->spec.dtype)),
        cell(variable),
        is_written(is_output) {}

  py::array array() const {
    py::array view(dtype, cell->spec.shape.extents(), cell->data, py::none());
    if (!is_written) {
      py::detail::array_proxy(view.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
    }
    return view;
  }
};

// What a kernel prepares of an operator.
struct Arguments {
  std::vector<View> views;
  py::dict attrs;
};

Arguments arguments_of(const KernelContext& context) {
  Arguments arguments{{}, attrs_of(context.attrs())};
  for (const OpDef::Slot& slot : context.def().inputs()) {
    if (slot.traits.shape_only || !context.has_input(slot.name)) continue;
    arguments.views.emplace_back(slot.name, context.raw_input(slot.name).cell(), false);
  }
  context.each_output([&](const std::string& slot, std::size_t index) {
    arguments.views.emplace_back(slot, context.raw_output(slot, index).cell(), true);
  });
  return arguments;
}

void run_formula(const std::string& who, const py::object& f, const Arguments& arguments) {
  std::vector<py::array> arrays;
  arrays.reserve(arguments.views.size());
  py::dict values;
  for (const View& view : arguments.views) {
    arrays.push_back(view.array());
    values[view.key] = arrays.back();
  }
  call_in_run(f, values, arguments.attrs);
  values.clear();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    // What the formula kept would be memory that others write.
    require(arrays[i].ref_count() == 1, who, " must not keep ", arguments.views[i].slot,
            ", which is memory of one run; keep a copy, numpy.array(...)");
  }
}

KernelFactory formula_kernel(const std::string& who, const py::object& formula) {
  return [who, f = shared(formula)](const KernelContext& context) -> Kernel {
    const py::gil_scoped_acquire gil;
    return [who, f, arguments = shared(arguments_of(context))] {
      const py::gil_scoped_acquire held;
      run_formula(who, *f, *arguments);
    };
  };
}

py::tuple described(const TensorSpec& spec) {
  return py::make_tuple(py::tuple(py::cast(spec.shape.extents())),
                        std::string(to_string(spec.dtype)));
}

// f({"X": (shape, dtype)}, attrs) is the list of (shape, dtype) of the outputs; -1 is unknown.
InferFn formula_infer(const py::object& formula, Names inputs, Names outputs) {
  return [f = shared(formula), inputs = std::move(inputs),
          outputs = std::move(outputs)](InferContext& context) {
    const py::gil_scoped_acquire gil;
    py::dict specs;
    for (const std::string& slot : inputs) {
      if (context.has_input(slot)) specs[py::str(slot)] = described(context.input(slot));
    }
    using Specs = std::vector<std::pair<std::vector<std::int64_t>, std::string>>;
    const auto results = call_in_run(*f, specs, attrs_of(context.attrs())).template cast<Specs>();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& [extents, dtype] = results.at(i);
      context.set_output(outputs[i], {Shape(extents), dtype_from_name(dtype)});
    }
  };
}

// f({"X": (shape, dtype)}, attrs) is the list of operators, each with whether gradients stop there,
// and {slot: variable} of the outputs; inputs are called as their slots.
Decompose recorded_decomposition(const py::object& recorder, Names inputs) {
  return [f = shared(recorder), inputs = std::move(inputs)](Decomposition& decomposition) {
    const py::gil_scoped_acquire gil;
    py::dict specs;
    for (const std::string& slot : inputs) {
      specs[py::str(slot)] = described(decomposition.spec(slot));
    }
    using Steps = std::vector<std::pair<BlockDesc::OpPtr, bool>>;
    using Recorded = std::pair<Steps, std::map<std::string, std::string>>;
    auto [steps, results] =
        call_in_run(*f, specs, attrs_of(decomposition.attrs())).template cast<Recorded>();
    Decomposition::Recording recording{{}, std::move(results)};
    for (const auto& [op, is_constant] : steps) recording.steps.push_back({*op, is_constant});
    decomposition.add(recording);
  };
}

struct Backward {
  py::object formula;
  Names reads;           // inputs and outputs
  Names cotangents;      // outputs
  Names differentiable;  // inputs
};

Names names_of(const Named& slots) {
  Names names;
  for (const auto& slot : slots) names.push_back(slot.first);
  return names;
}

bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void add_attrs(OpDef& def, const std::string& type, const py::dict& attrs) {
  for (const auto& [key, value] : attrs) {
    const auto name = key.cast<std::string>();
    const auto [example, doc] = value.cast<std::pair<py::object, std::string>>();
    Attribute attribute = attribute_from_python(type, name, example);
    def = OpDef(std::move(def)).attr(name, std::move(attribute), doc);
  }
}

// `inputs` and `outputs` are pairs of a name and its documentation, `attrs` name -> (default,
// documentation).
struct Declaration {
  std::string type;
  std::string doc;
  Named inputs;
  Named outputs;
  py::dict attrs;
};

OpDef forward_op(const Declaration& d, const py::object& infer, const py::object& formula) {
  OpDef def(d.type);
  def = OpDef(std::move(def)).doc(d.doc);
  for (const auto& [name, doc] : d.inputs) def = OpDef(std::move(def)).input(name, doc);
  for (const auto& [name, doc] : d.outputs) def = OpDef(std::move(def)).output(name, doc);
  add_attrs(def, d.type, d.attrs);
  return std::move(def)
      .infer(formula_infer(infer, names_of(d.inputs), names_of(d.outputs)))
      .kernels(byte_kernels(formula_kernel(d.type + ": forward", formula)));
}

OpDef backward_op(const Declaration& d, const Backward& backward) {
  OpDef def(d.type + "_grad");
  def = OpDef(std::move(def)).doc("The gradients of " + d.type + ", by its function backward.");
  for (const auto& [name, doc] : d.inputs) {
    const bool is_read = contains(backward.reads, name);
    if (!is_read && !contains(backward.differentiable, name)) continue;
    def = OpDef(std::move(def))
              .input(name, "input of the forward operator", {.shape_only = !is_read});
  }
  for (const auto& [name, doc] : d.outputs) {
    if (contains(backward.reads, name)) {
      def = OpDef(std::move(def)).input(name, "output of the forward operator");
    }
  }
  for (const std::string& name : backward.cotangents) {
    def = OpDef(std::move(def))
              .input(name + "@GRAD", str_cat("gradient of ", name, ", shape of ", name));
  }
  for (const std::string& name : backward.differentiable) {
    def = OpDef(std::move(def))
              .output(name + "@GRAD", str_cat("gradient of ", name, ", shape of ", name));
  }
  add_attrs(def, d.type, d.attrs);
  return std::move(def)
      .infer(infer_grads_like_inputs)
      .kernels(byte_kernels(formula_kernel(d.type + ": backward", backward.formula)));
}

GradMaker grad_of(const Declaration& d, const Backward& backward) {
  StandardGrad grad{.differentiable = backward.differentiable, .cotangents = backward.cotangents};
  for (const auto& [name, doc] : d.inputs) {
    if (contains(backward.reads, name) || contains(backward.differentiable, name)) {
      grad.inputs.push_back(name);
    }
  }
  for (const auto& [name, doc] : d.outputs) {
    if (contains(backward.reads, name)) grad.outputs.push_back(name);
  }
  return standard_grad(std::move(grad));
}

// Operators that were added, and what was there before.
class Definition {
 public:
  Definition(Names types, const OpRegistry& before) : types_(std::move(types)), before_(before) {}

  const Names& types() const { return types_; }
  void take_back() const { process_ops().set(types_, before_); }

 private:
  Names types_;
  OpRegistry before_;
};

std::unique_ptr<Definition> define_op(const Declaration& declaration,
                                      const py::object& infer,
                                      const py::object& forward,
                                      const std::optional<Backward>& backward,
                                      const py::object& decompose,
                                      bool is_its_decomposition) {
  OpRegistry added;
  OpDef def = forward_op(declaration, infer, forward);
  if (!decompose.is_none()) {
    Decompose recorded = recorded_decomposition(decompose, names_of(declaration.inputs));
    def = OpDef(std::move(def)).decompose_by_specs(std::move(recorded));
  }
  if (is_its_decomposition) def = OpDef(std::move(def)).stands_for_decomposition();
  if (backward) {
    def = OpDef(std::move(def)).grad(grad_of(declaration, *backward));
    added.add(backward_op(declaration, *backward));
  }
  added.add(std::move(def));
  auto definition = std::make_unique<Definition>(added.types(), process_ops());
  process_ops().set(added.types(), added);
  return definition;
}

}  // namespace

void bind_python_op(py::module_& m) {
  py::class_<Definition>(m, "Definition", "Operators that were added.")
      .def_property_readonly("types", &Definition::types, "Their names, sorted.")
      .def("take_back", &Definition::take_back, "Puts back what there was before.");
  m.def(
      "define_op",
      [](std::string type, std::string doc, Named inputs, Named outputs, py::dict attrs,
         const py::object& infer, const py::object& forward, const py::object& backward,
         Names reads, Names cotangents, Names differentiable, const py::object& decompose,
         bool is_its_decomposition) {
        std::optional<Backward> gradient;
        if (!backward.is_none()) {
          gradient = Backward{backward, std::move(reads), std::move(cotangents),
                              std::move(differentiable)};
        }
        return define_op({std::move(type), std::move(doc), std::move(inputs), std::move(outputs),
                          std::move(attrs)},
                         infer, forward, gradient, decompose, is_its_decomposition);
      },
      py::arg("type"), py::arg("doc"), py::arg("inputs"), py::arg("outputs"), py::arg("attrs"),
      py::arg("infer"), py::arg("forward"), py::arg("backward"), py::arg("reads"),
      py::arg("cotangents"), py::arg("differentiable"), py::arg("decompose") = py::none(),
      py::arg("is_its_decomposition") = false,
      "Defines an operator, in the place of one of its name, whose formulas are Python functions: "
      "forward({slot: array}, attrs) and "
      "backward likewise write into the arrays of the outputs, infer({slot: (shape, dtype)}, "
      "attrs) gives a (shape, dtype) for each output; decompose likewise gives the operators that "
      "this one stands for, each with whether gradients stop there, and {slot: variable} of the "
      "outputs.");
  m.def(
      "load_op_library",
      [](const std::string& path) {
        const OpRegistry before = process_ops();
        return std::make_unique<Definition>(load_op_library(path, process_ops()), before);
      },
      py::arg("path"), "Adds the operators of a shared library.");
}

}  // namespace fluidcore::bindings
