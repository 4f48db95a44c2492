#include "fluidcore/program/program_desc.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/base/error.h"
#include "fluidcore/bindings/bindings.h"
#include "fluidcore/op/infer.h"
#include "fluidcore/program/block_effects.h"
#include "fluidcore/program/serialize.h"
#include "fluidcore/runtime/passes/prune.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

using OpPtr = BlockDesc::OpPtr;
using VarPtr = BlockDesc::VarPtr;
using Names = std::vector<std::string>;

Names keys_of(const AttributeMap& attrs) {
  Names names;
  for (const auto& [name, value] : attrs) names.push_back(name);
  return names;
}

py::dict attributes_to_python(const AttributeMap& attrs) {
  py::dict converted;
  for (const auto& [name, value] : attrs) converted[py::str(name)] = attribute_to_python(value);
  return converted;
}

std::size_t position(const BlockDesc& block, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(block.ops().size());
  require(index >= -1 && index <= size, "block ", block.idx(),
          ": an operator can be added at 0 to ", size, ", got ", index);
  return static_cast<std::size_t>(index == -1 ? size : index);
}

OpPtr op_at(const BlockDesc& block, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(block.ops().size());
  if (index < 0 || index >= size) {
    throw NotFound("block ", block.idx(), ": no operator ", index, "; it has ", size);
  }
  return block.ops()[static_cast<std::size_t>(index)];
}

py::tuple op_to_state(const OpDesc& op) {
  return py::make_tuple(op.type(), op.inputs(), op.outputs(), attributes_to_python(op.attrs()),
                        op.call_site());
}

OpPtr op_from_state(const py::tuple& state) {
  const auto type = state[0].cast<std::string>();
  auto op = std::make_shared<OpDesc>(type, state[1].cast<SlotMap>(), state[2].cast<SlotMap>(),
                                     attributes_from_python(type, state[3].cast<py::dict>()));
  op->set_call_site(state[4].cast<std::string>());
  return op;
}

// A program as its saved form, and where the user added the operators, block by block.
py::tuple program_to_state(const ProgramDesc& program) {
  Names sites;
  for (std::size_t idx = 0; idx < program.num_blocks(); ++idx) {
    for (const OpPtr& op : program.block(static_cast<std::int64_t>(idx)).ops()) {
      sites.push_back(op->call_site());
    }
  }
  return py::make_tuple(to_json(program), std::move(sites));
}

std::shared_ptr<ProgramDesc> program_from_state(const py::tuple& state) {
  std::shared_ptr<ProgramDesc> program = program_from_json(state[0].cast<std::string>());
  const auto sites = state[1].cast<Names>();
  auto site = sites.begin();
  for (std::size_t idx = 0; idx < program->num_blocks(); ++idx) {
    for (const OpPtr& op : program->block(static_cast<std::int64_t>(idx)).ops()) {
      if (site != sites.end()) op->set_call_site(*site++);
    }
  }
  return program;
}

void bind_op_desc(py::module_& m) {
  py::class_<BlockIndex>(m, "BlockIndex", "The value of an attribute that names a block.")
      .def(py::init([](std::int64_t value) { return BlockIndex{value}; }), py::arg("value"))
      .def_readonly("value", &BlockIndex::value)
      .def(
          "__eq__", [](BlockIndex a, BlockIndex b) { return a == b; }, py::is_operator())
      .def("__hash__", [](BlockIndex index) { return index.value; })
      .def(py::pickle(
          [](BlockIndex index) { return py::make_tuple(index.value); },
          [](const py::tuple& state) { return BlockIndex{state[0].cast<std::int64_t>()}; }))
      .def("__repr__", [](BlockIndex index) { return str_cat("BlockIndex(", index.value, ")"); });

  py::class_<OpDesc, OpPtr>(m, "OpDesc", "One operator as data: type, slots, attributes.")
      .def(py::init([](std::string type, SlotMap inputs, SlotMap outputs, const py::dict& attrs) {
             AttributeMap converted = attributes_from_python(type, attrs);
             return std::make_shared<OpDesc>(std::move(type), std::move(inputs), std::move(outputs),
                                             std::move(converted));
           }),
           py::arg("type") = "", py::arg("inputs") = SlotMap{}, py::arg("outputs") = SlotMap{},
           py::arg("attrs") = py::dict())
      .def("type", &OpDesc::type)
      .def("set_type", &OpDesc::set_type, py::arg("type"))
      .def("inputs", &OpDesc::inputs, "Slot -> names of variables.")
      .def("outputs", &OpDesc::outputs, "Slot -> names of variables.")
      .def("input", &OpDesc::input, py::arg("slot"))
      .def("output", &OpDesc::output, py::arg("slot"))
      .def("set_input", &OpDesc::set_input, py::arg("slot"), py::arg("names"))
      .def("remove_input", &OpDesc::remove_input, py::arg("slot"))
      .def("set_output", &OpDesc::set_output, py::arg("slot"), py::arg("names"))
      .def("input_arg_names", &OpDesc::input_arg_names, "Names in all input slots.")
      .def("output_arg_names", &OpDesc::output_arg_names, "Names in all output slots.")
      .def("has_attr", &OpDesc::has_attr, py::arg("name"))
      .def("attr_names", [](const OpDesc& op) { return keys_of(op.attrs()); })
      .def("attrs", [](const OpDesc& op) { return attributes_to_python(op.attrs()); })
      .def(
          "attr",
          [](const OpDesc& op, const std::string& name) {
            return attribute_to_python(op.attr(name));
          },
          py::arg("name"))
      .def(
          "set_attr",
          [](OpDesc& op, const std::string& name, const py::object& value) {
            op.set_attr(name, attribute_from_python(op.type(), name, value));
          },
          py::arg("name"), py::arg("value"))
      .def(
          "block_attr",
          [](const OpDesc& op, const std::string& name) {
            const auto* index = std::get_if<BlockIndex>(&op.attr(name));
            require(index != nullptr, op.type(), ": attribute '", name, "' must be a block, got ",
                    op.attr(name));
            return index->value;
          },
          py::arg("name"))
      .def(
          "set_block_attr",
          [](OpDesc& op, const std::string& name, std::int64_t index) {
            op.set_attr(name, BlockIndex{index});
          },
          py::arg("name"), py::arg("index"))
      .def(
          "copy_from", [](OpDesc& op, const OpDesc& other) { op = other; }, py::arg("other"))
      .def("rename_input", &OpDesc::rename_input, py::arg("old"), py::arg("new"))
      .def("rename_output", &OpDesc::rename_output, py::arg("old"), py::arg("new"))
      .def("call_site", &OpDesc::call_site, "Where the user added it: 'train.py:41', or ''.")
      .def("set_call_site", &OpDesc::set_call_site, py::arg("site"))
      .def(
          "infer_shape",
          [](OpDesc& op, const BlockRef& block) {
            infer_op(process_ops(), *block.program, block.idx, op);
          },
          py::arg("block"), "Completes the attributes and sets what the outputs are.")
      .def(py::pickle(&op_to_state, &op_from_state))
      .def("__str__", [](const OpDesc& op) { return to_string(op); })
      .def("__repr__", [](const OpDesc& op) { return to_string(op); });
}

void bind_var_desc(py::module_& m) {
  py::class_<VarDesc, VarPtr> var(m, "VarDesc", "One variable as data.");
  refuse_pickling(var,
                  "a VarDesc cannot be pickled or copied alone, as it belongs to its block; "
                  "pickle the Variable, or the ProgramDesc");
  var.def("name", &VarDesc::name)
      .def(
          "shape", [](const VarDesc& var) { return var.shape().extents(); },
          "Extents; -1 where only known at run time.")
      .def(
          "set_shape",
          [](VarDesc& var, std::vector<std::int64_t> shape) {
            for (const std::int64_t extent : shape) {
              require(extent >= -1, "variable '", var.name(),
                      "': extents must be at least 0, or -1 for unknown, got ", Shape(shape));
            }
            var.set_shape(Shape(std::move(shape)));
          },
          py::arg("shape"))
      .def("dtype", [](const VarDesc& var) { return std::string(to_string(var.dtype())); })
      .def(
          "set_dtype",
          [](VarDesc& var, const std::string& name) { var.set_dtype(dtype_from_name(name)); },
          py::arg("dtype"))
      .def(
          "type", [](const VarDesc& var) { return std::string(to_string(var.type())); },
          "'lod_tensor', 'selected_rows', or 'lod_tensor_array': shape and dtype are those of its "
          "elements.")
      .def(
          "set_type",
          [](VarDesc& var, const std::string& name) { var.set_type(var_type_from_name(name)); },
          py::arg("type"))
      .def("lod_level", &VarDesc::lod_level)
      .def("set_lod_level", &VarDesc::set_lod_level, py::arg("level"))
      .def("persistable", &VarDesc::persistable)
      .def("set_persistable", &VarDesc::set_persistable, py::arg("value"))
      .def("stop_gradient", &VarDesc::stop_gradient)
      .def("set_stop_gradient", &VarDesc::set_stop_gradient, py::arg("value"))
      .def("is_data", &VarDesc::is_data)
      .def("set_is_data", &VarDesc::set_is_data, py::arg("value"))
      .def("is_parameter", &VarDesc::is_parameter)
      .def("set_is_parameter", &VarDesc::set_is_parameter, py::arg("value"))
      .def("trainable", &VarDesc::trainable)
      .def("set_trainable", &VarDesc::set_trainable, py::arg("value"))
      .def(
          "error_clip",
          [](const VarDesc& var) {
            std::optional<std::pair<double, double>> bounds;
            if (const auto& clip = var.error_clip()) bounds.emplace(clip->min, clip->max);
            return bounds;
          },
          "The bounds (min, max) that backward clips the gradient to; None: no bounds.")
      .def(
          "set_error_clip",
          [](VarDesc& var, std::optional<std::pair<double, double>> bounds) {
            std::optional<ErrorClip> clip;
            if (bounds) clip = {bounds->first, bounds->second};
            var.set_error_clip(clip);
          },
          py::arg("bounds"))
      .def("__str__", [](const VarDesc& var) { return to_string(var); })
      .def("__repr__", [](const VarDesc& var) { return to_string(var); });
}

void bind_block_desc(py::class_<BlockRef>& block) {
  block.def("id", [](const BlockRef& block) { return block.idx; })
      .def("parent", [](const BlockRef& block) { return block.get().parent_idx(); })
      .def("forward_block_idx",
           [](const BlockRef& block) { return block.get().forward_block_idx(); })
      .def(
          "set_forward_block_idx",
          [](const BlockRef& block, std::int64_t idx) {
            if (idx != -1) block.program->block(idx);
            block.get().set_forward_block_idx(idx);
          },
          py::arg("idx"), "Of a gradient block: the block that it is the gradient of; -1: none.")
      .def("append_op", [](const BlockRef& block) { return block.get().append_op(); })
      .def("prepend_op", [](const BlockRef& block) { return block.get().insert_op(0, {}); })
      .def(
          "insert_op",
          [](const BlockRef& block, std::int64_t index) {
            return block.get().insert_op(position(block.get(), index), {});
          },
          py::arg("index"))
      .def(
          "add_op",
          [](const BlockRef& block, const std::string& type, SlotMap inputs, SlotMap outputs,
             const py::dict& attrs, std::string call_site, std::int64_t index) {
            OpDesc op(type, std::move(inputs), std::move(outputs),
                      attributes_from_python(type, attrs));
            op.set_call_site(std::move(call_site));
            return add_op(process_ops(), *block.program, block.idx, position(block.get(), index),
                          std::move(op));
          },
          py::arg("type"), py::arg("inputs"), py::arg("outputs"), py::arg("attrs") = py::dict(),
          py::arg("call_site") = "", py::arg("index") = -1,
          "Checks, completes and infers the operator, then adds it. On error nothing has changed.")
      .def(
          "remove_op",
          [](const BlockRef& block, std::size_t first, std::size_t last) {
            block.get().remove_op(first, last);
          },
          py::arg("first"), py::arg("last"), "Removes the operators [first, last).")
      .def(
          "op", [](const BlockRef& block, std::int64_t index) { return op_at(block.get(), index); },
          py::arg("index"))
      .def("op_size", [](const BlockRef& block) { return block.get().ops().size(); })
      .def("ops", [](const BlockRef& block) { return block.get().ops(); })
      .def(
          "var",
          [](const BlockRef& block, const std::string& name) { return block.get().var(name); },
          py::arg("name"), "The variable, created if there is none.")
      .def(
          "find_var",
          [](const BlockRef& block, const std::string& name) { return block.get().find_var(name); },
          py::arg("name"))
      .def(
          "has_var",
          [](const BlockRef& block, const std::string& name) {
            return block.get().find_var(name) != nullptr;
          },
          py::arg("name"))
      .def(
          "find_var_recursive",
          [](const BlockRef& block, const std::string& name) {
            return block.program->find_var_recursive(block.idx, name);
          },
          py::arg("name"), "Here or in a block around this one.")
      .def(
          "has_var_recursive",
          [](const BlockRef& block, const std::string& name) {
            return block.program->find_var_recursive(block.idx, name) != nullptr;
          },
          py::arg("name"))
      .def("all_vars", [](const BlockRef& block) { return block.get().vars(); })
      .def(
          "rename_var",
          [](const BlockRef& block, const std::string& old, const std::string& name) {
            block.get().rename_var(old, name);
          },
          py::arg("old"), py::arg("new"))
      .def(
          "remove_vars",
          [](const BlockRef& block, const std::vector<std::string>& names) {
            block.get().remove_vars(names);
          },
          py::arg("names"))
      .def(
          "__eq__",
          [](const BlockRef& a, const BlockRef& b) {
            return a.program == b.program && a.idx == b.idx;
          },
          py::is_operator())
      .def("__hash__",
           [](const BlockRef& block) {
             return std::hash<const void*>()(block.program.get()) ^
                    static_cast<std::size_t>(block.idx);
           })
      .def(
          py::pickle([](const BlockRef& block) { return py::make_tuple(block.program, block.idx); },
                     [](const py::tuple& state) {
                       return BlockRef{state[0].cast<std::shared_ptr<ProgramDesc>>(),
                                       state[1].cast<std::int64_t>()};
                     }));
}

void bind_program_desc(py::module_& m) {
  py::class_<ProgramDesc, std::shared_ptr<ProgramDesc>>(m, "ProgramDesc", "A program as data.")
      .def(py::init<>())
      .def(
          "block",
          [](const std::shared_ptr<ProgramDesc>& program, std::int64_t idx) {
            program->block(idx);
            return BlockRef{program, idx};
          },
          py::arg("idx"))
      .def(
          "append_block",
          [](const std::shared_ptr<ProgramDesc>& program, const BlockRef& parent) {
            return BlockRef{program, program->append_block(parent.idx).idx()};
          },
          py::arg("parent"))
      .def(
          "append_block",
          [](const std::shared_ptr<ProgramDesc>& program, std::int64_t parent) {
            return BlockRef{program, program->append_block(parent).idx()};
          },
          py::arg("parent"))
      .def("remove_blocks", &ProgramDesc::remove_blocks, py::arg("first"),
           "Removes the blocks from index `first` on.")
      .def("keep_blocks", &ProgramDesc::keep_blocks, py::arg("indices"),
           "Removes all blocks but these and numbers those that stay anew.")
      .def("num_blocks", &ProgramDesc::num_blocks)
      .def("clone",
           [](const ProgramDesc& program) { return std::shared_ptr<ProgramDesc>(program.clone()); })
      .def("random_seed", &ProgramDesc::random_seed)
      .def("set_random_seed", &ProgramDesc::set_random_seed, py::arg("seed"))
      .def(
          "revision", [](const ProgramDesc& program) { return *program.revision(); },
          "Grows with every change of the program.")
      .def("serialize_to_string", &to_json, "The program as JSON text.")
      .def_static(
          "parse_from_string",
          [](const py::bytes& text) {
            return std::shared_ptr<ProgramDesc>(program_from_json(std::string_view(text)));
          },
          py::arg("text"))
      .def_static(
          "parse_from_string",
          [](const std::string& text) {
            return std::shared_ptr<ProgramDesc>(program_from_json(text));
          },
          py::arg("text"))
      .def(py::pickle(&program_to_state, &program_from_state))
      .def("__str__", [](const ProgramDesc& program) { return to_string(program); });
}

}  // namespace

void bind_program(py::module_& m) {
  m.attr("EMPTY_VAR_NAME") = std::string(kEmptyName);
  m.attr("GRAD_VAR_SUFFIX") = std::string(kGradSuffix);
  m.def("grad_var_name", &grad_name, py::arg("name"), "'x' -> 'x@GRAD'");
  // Declared before the functions that take it, so that their signatures name it.
  py::class_<BlockRef> block(m, "BlockDesc", "One block of a program: operators and variables.");
  bind_op_desc(m);
  bind_var_desc(m);
  bind_block_desc(block);
  bind_program_desc(m);
  py::class_<EffectsOfBlocks>(
      m, "EffectsOfBlocks",
      "What blocks of a program do to the variables around them; each is found once, and must stay "
      "as it is from then on.")
      .def(py::init<const ProgramDesc&>(), py::arg("program"), py::keep_alive<1, 2>())
      .def(
          "of",
          [](EffectsOfBlocks& effects, std::int64_t idx) {
            const BlockEffects& found = effects.of(idx);
            return std::pair(found.reads, found.writes);
          },
          py::arg("idx"),
          "The variables of outer blocks that a block reads, and those that it writes.");
  m.def(
      "needed_ops",
      [](const ProgramDesc& program, const std::vector<std::string>& targets,
         const std::vector<std::string>& given) {
        return needed_ops(program, process_ops(), targets, given);
      },
      py::arg("program"), py::arg("targets"), py::arg("given"),
      "The operators that variables of block 0 need, where `given` are there already: block -> "
      "positions.");
}

}  // namespace fluidcore::bindings
