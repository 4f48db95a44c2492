#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/error.h"
#include "fluidcore/base/shape.h"
#include "fluidcore/bindings/bindings.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/register_ops.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using GradOps = std::pair<std::vector<BlockDesc::OpPtr>, std::map<std::string, std::string>>;

using Specs = std::map<std::string, std::pair<std::vector<std::int64_t>, std::string>>;

SpecsByName specs_by_name(const Specs& given) {
  SpecsByName specs;
  for (const auto& [name, spec] : given) {
    specs.emplace(name, TensorSpec{Shape(spec.first), dtype_from_name(spec.second)});
  }
  return specs;
}

GradOps get_grad_op_desc(const OpDesc& op,
                         const std::set<std::string>& no_grad_set,
                         const std::vector<BlockRef>& grad_sub_blocks,
                         const Specs& specs) {
  std::vector<BlockIndex> blocks;
  blocks.reserve(grad_sub_blocks.size());
  for (const BlockRef& block : grad_sub_blocks) blocks.push_back({block.idx});
  const OpDef& def = process_ops().get(op.type());
  OpDesc forward = op;
  def.complete(forward);  // an operator that is in no block may lack what gradients are made from
  GradContext context(forward, no_grad_set, std::move(blocks), specs_by_name(specs));
  GradOps result;
  for (OpDesc& grad : process_ops().grad_ops(context)) {
    result.first.push_back(std::make_shared<OpDesc>(std::move(grad)));
  }
  result.second = context.grad_to_var();
  return result;
}

using Steps =
    std::pair<std::vector<std::pair<BlockDesc::OpPtr, bool>>, std::map<std::string, std::string>>;

Steps decomposition_of(const OpDesc& op, const Specs& specs) {
  const OpDef& def = process_ops().get(op.type());
  require(def.has_decomposition(), op.type(), ": there must be a decomposition, got none");
  OpDesc complete = op;
  def.complete(complete);
  const SpecsByName known = specs_by_name(specs);
  Decomposition decomposition(process_ops(), complete, known);
  def.decomposition()(decomposition);
  Steps found;
  for (const auto& [step, is_constant] : decomposition.steps()) {
    found.first.emplace_back(std::make_shared<OpDesc>(step), is_constant);
  }
  found.second = decomposition.results();
  return found;
}

std::vector<std::pair<std::string, std::string>> kernel_list(const OpDef& def) {
  std::vector<std::pair<std::string, std::string>> kernels;
  for (const auto& [key, kernel] : def.kernels()) {
    kernels.emplace_back(to_string(key.first), to_string(key.second));
  }
  return kernels;
}

using Shapes = std::map<std::string, std::vector<std::vector<std::int64_t>>>;

std::int64_t num_rows(const OpDef& def, OpDesc op, const std::string& slot, const Shapes& shapes) {
  def.complete(op);
  InferContext::Slots inputs;
  for (const auto& [name, group] : shapes) {
    for (const auto& shape : group) inputs[name].push_back({Shape(shape), DType::kFloat32});
  }
  return def.num_rows(InferContext(op, std::move(inputs), {}), slot);
}

}  // namespace

// Never destroyed: formulas may be Python's, which ends before this process.
OpRegistry& process_ops() {
  static OpRegistry& ops = *new OpRegistry(builtin_ops());
  return ops;
}

void bind_ops(py::module_& m) {
  py::class_<OpDef> def(m, "OpDef", "What an operator is: slots, attributes, kernels.");
  py::class_<OpDef::Slot>(def, "Slot")
      .def_readonly("name", &OpDef::Slot::name)
      .def_readonly("doc", &OpDef::Slot::doc)
      .def_property_readonly("list", [](const OpDef::Slot& slot) { return slot.traits.list; })
      .def_property_readonly("optional",
                             [](const OpDef::Slot& slot) { return slot.traits.optional; })
      .def_property_readonly("intermediate",
                             [](const OpDef::Slot& slot) { return slot.traits.intermediate; })
      .def_property_readonly(
          "read_for", [](const OpDef::Slot& slot) { return slot.traits.read_for; },
          "The only output for which the elements are read; empty if there is none.")
      .def_property_readonly("shape_only",
                             [](const OpDef::Slot& slot) { return slot.traits.shape_only; })
      .def_property_readonly(
          "no_gradient", [](const OpDef::Slot& slot) { return slot.traits.no_gradient; },
          "Values pass, gradients do not.")
      .def_property_readonly(
          "needs_no_gradient",
          [](const OpDef::Slot& slot) { return slot.traits.needs_no_gradient; },
          "Nothing passes that would need a gradient.")
      .def_property_readonly(
          "array", [](const OpDef::Slot& slot) { return slot.traits.array; },
          "Holds a tensor array.")
      .def_property_readonly(
          "may_be_float32", [](const OpDef::Slot& slot) { return slot.traits.may_be_float32; },
          "May be float32 where the other variables have 16 bits.")
      .def_property_readonly(
          "only_rows", [](const OpDef::Slot& slot) { return slot.traits.only_rows; },
          "Holds selected rows.")
      .def_property_readonly(
          "rows", [](const OpDef::Slot& slot) { return slot.traits.rows; },
          "Holds a tensor or selected rows.")
      .def_property_readonly(
          "may_be_unset", [](const OpDef::Slot& slot) { return slot.traits.may_be_unset; },
          "Need not have a value, and then is not read.")
      .def_property_readonly(
          "of_block", [](const OpDef::Slot& slot) { return slot.traits.of_block; },
          "Lists what the operator's block reads or writes.");
  py::class_<OpDef::Attr>(def, "Attr")
      .def_readonly("name", &OpDef::Attr::name)
      .def_readonly("doc", &OpDef::Attr::doc)
      .def_readonly("required", &OpDef::Attr::required)
      .def_readonly("choices", &OpDef::Attr::choices)
      .def_property_readonly(
          "type",
          [](const OpDef::Attr& attr) { return std::string(type_name(attr.default_value)); })
      .def_property_readonly("default", [](const OpDef::Attr& attr) -> py::object {
        return attr.required ? py::none() : attribute_to_python(attr.default_value);
      });
  def.def("__reduce__",
          [](const OpDef& self) {
            const py::object find = py::module_::import("fluidcore.core").attr("op_def");
            return py::make_tuple(find, py::make_tuple(self.type()));
          })
      .def_property_readonly("type", &OpDef::type)
      .def_property_readonly("doc", [](const OpDef& self) { return self.doc(); })
      .def_property_readonly("inputs", &OpDef::inputs)
      .def_property_readonly("outputs", &OpDef::outputs)
      .def_property_readonly("attrs", &OpDef::attrs)
      .def_property_readonly("kernels", &kernel_list, "Pairs of device and dtype.")
      .def_property_readonly("has_grad", &OpDef::has_grad)
      .def_property_readonly("has_decomposition", &OpDef::has_decomposition,
                             "It can be rewritten into operators that have gradients.")
      .def_property_readonly("decomposes_by_specs", &OpDef::decomposes_by_specs,
                             "Its decomposition is made for certain specs of the inputs.")
      .def_property_readonly("is_its_decomposition", &OpDef::is_its_decomposition,
                             "Programs get its decomposition in its place.")
      .def_property_readonly("is_random", &OpDef::is_random,
                             "It draws random numbers: calculated again, it gives others.")
      .def_property_readonly(
          "runs_block", [](const OpDef& self) { return self.block_traits() != nullptr; },
          "Runs the block of its attribute sub_block.")
      .def_property_readonly("is_constant", &OpDef::is_constant,
                             "append_backward treats its outputs as constants.")
      .def("num_rows", &num_rows, py::arg("op_desc"), py::arg("slot"), py::arg("shapes"),
           "How many rows of an input, its leading dimensions, do not depend on each other, for "
           "inputs of these shapes by slot; 0: nothing is known.");
  m.def("op_types", [] { return process_ops().types(); }, "The names of all operators, sorted.");
  m.def(
      "op_def", [](const std::string& type) { return &process_ops().get(type); }, py::arg("type"),
      py::return_value_policy::reference, "The definition of an operator.");
  m.def("get_grad_op_desc", &get_grad_op_desc, py::arg("op_desc"),
        py::arg("no_grad_set") = std::set<std::string>(),
        py::arg("grad_sub_blocks") = std::vector<BlockRef>(), py::arg("specs") = Specs(),
        "The operators that calculate the gradient of one operator, and which gradient belongs to "
        "which forward variable. An operator that decomposes_by_specs needs those of its inputs: "
        "variable -> (shape, dtype).");
  m.def("decomposition_of", &decomposition_of, py::arg("op_desc"), py::arg("specs") = Specs(),
        "The operators that one operator stands for, each with whether gradients stop there; and "
        "output variable -> the variable of these operators that it equals.");
}

}  // namespace fluidcore::bindings
