#include "fluidcore/op/infer.h"

#include <string>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/program/block_effects.h"

namespace fluidcore {

namespace {

constexpr const char* kArrayHint = "an array holds tensors of one shape and dtype";

InferContext::Slots input_specs(const ProgramDesc& program,
                                std::int64_t block_idx,
                                const OpDesc& op) {
  InferContext::Slots specs;
  for (const auto& [slot, names] : op.inputs()) {
    auto& values = specs[slot];
    for (const std::string& name : names) {
      if (name == kEmptyName) continue;
      const auto var = program.find_var_recursive(block_idx, name);
      if (!var) {
        throw NotFound(op.type(), ": ", slot, " must be a variable of block ", block_idx,
                       " or of a block around it, got the unknown name '", name, "'");
      }
      values.push_back(var->spec());
    }
  }
  return specs;
}

InferContext::Slots output_specs(const ProgramDesc& program,
                                 std::int64_t block_idx,
                                 const OpDesc& op) {
  InferContext::Slots specs;
  for (const auto& [slot, names] : op.outputs()) {
    auto& values = specs[slot];
    for (const std::string& name : names) {
      const auto var = program.find_var_recursive(block_idx, name);
      values.push_back(var ? var->spec() : TensorSpec{});
    }
  }
  return specs;
}

// Variables that live outside the program's run keep what was declared for them.
bool is_fixed(const VarDesc& var) {
  return var.persistable() || var.is_data();
}

bool is_array(const VarDesc& var) {
  return var.type() == VarType::kTensorArray;
}

// Nothing was written to the array yet: what it holds is not known.
bool is_blank(const VarDesc& array) {
  return array.shape().rank() == 0;
}

// Checks the variables that an operator is given against what its slots hold.
class VariableChecks {
 public:
  VariableChecks(const ProgramDesc& program, std::int64_t block_idx, const OpDesc& op)
      : program_(program), block_idx_(block_idx), op_(op) {}

  void check(const OpDef& def) const {
    for (const OpDef::Slot& slot : def.inputs()) check_types(slot, op_.input(slot.name));
    for (const OpDef::Slot& slot : def.outputs()) check_types(slot, op_.output(slot.name));
    for (const OpDef::Slot& slot : def.outputs()) {
      if (slot.traits.array) check_in_place(def, slot.name);
    }
  }

 private:
  void check_types(const OpDef::Slot& slot, const std::vector<std::string>& names) const {
    if (slot.traits.of_block) return;
    for (const std::string& name : names) {
      const auto var = program_.find_var_recursive(block_idx_, name);
      if (!var || is_array(*var) == slot.traits.array) continue;
      require(slot.traits.array, op_.type(), ": ", slot.name,
              " must be a tensor, got the tensor array '", name, "'; read an element with ",
              "array_read");
      throw InvalidArgument(op_.type(), ": ", slot.name,
                            " must be a tensor array, got the tensor '", name,
                            "'; make an array with create_array");
    }
  }

  // An array that goes in comes out as the same variable.
  void check_in_place(const OpDef& def, const std::string& output) const {
    for (const OpDef::Slot& slot : def.inputs()) {
      const auto& in = op_.input(slot.name);
      const auto& out = op_.output(output);
      if (!slot.traits.array || in.empty() || out.empty() || out[0] == kEmptyName) continue;
      require(in == out, op_.type(), ": ", output, " must be the variable of ", slot.name,
              ", which is changed in place, got '", out[0], "' and '", in[0], "'");
    }
  }

  const ProgramDesc& program_;
  std::int64_t block_idx_;
  const OpDesc& op_;
};

InferContext::BlockVariables variables_of_block(const ProgramDesc& program, const OpDesc& op) {
  const std::int64_t idx = std::get<BlockIndex>(op.attr("sub_block")).value;
  return [&program, idx, type = op.type()](const std::string& name) {
    const auto var = program.find_var_recursive(idx, name);
    if (!var) {
      throw NotFound(type, ": no variable '", name, "' in the operator's block, block ", idx);
    }
    require(var->type() == VarType::kTensor, type, ": '", name, "' of block ", idx,
            " must be a tensor, got ", described(var->type()));
    return var->spec();
  };
}

// Whether every extent that `declared` knows is known to be the same.
bool is_within(const Shape& shape, const Shape& declared) {
  for (std::size_t axis = 0; axis < declared.rank(); ++axis) {
    if (declared[axis] != -1 && shape[axis] != declared[axis]) return false;
  }
  return true;
}

// What an output is against what is known of the variable.
void check_output(const OpDesc& op,
                  const OpDef::Slot& slot,
                  const VarDesc& var,
                  const TensorSpec& spec) {
  const bool fits = var.dtype() == spec.dtype && compatible(var.shape(), spec.shape);
  if (slot.traits.array) {
    require(fits || is_blank(var), op.type(), ": ", slot.name, " must fit the elements of '",
            var.name(), "', ", var.spec(), ", got ", spec, "; ", kArrayHint);
  } else if (is_fixed(var)) {
    require(var.spec().rows.has_value() == spec.rows.has_value(), op.type(), ": ", slot.name,
            " must fit the variable '", var.name(), "', declared as ", var.spec(), ", got ", spec);
    require(fits && is_within(spec.shape, var.shape()), op.type(), ": ", slot.name,
            " must fit the variable '", var.name(), "', declared as ", var.spec(), ", got ", spec,
            fits ? "; declare it with -1 where an extent is not known" : "");
  }
}

}  // namespace

void infer_op(const OpRegistry& registry,
              ProgramDesc& program,
              std::int64_t block_idx,
              OpDesc& op) {
  const OpDef& def = registry.get(op.type());
  OpDesc completed = op;
  def.complete(completed);
  InferContext context(completed, input_specs(program, block_idx, completed),
                       output_specs(program, block_idx, completed));
  VariableChecks(program, block_idx, completed).check(def);
  if (def.block_traits() != nullptr) {
    const auto sub_block = std::get<BlockIndex>(completed.attr("sub_block"));
    check_sub_block(program, block_idx, sub_block.value, op.type());
    context.set_block_variables(variables_of_block(program, completed));
  }
  def.infer(context);
  def.check_dtype(def.kernel_dtype(context));
  context.each_output([&](const std::string& slot_name, std::size_t index) {
    const OpDef::Slot& slot = *def.find_output(slot_name);
    const std::string& name = completed.output(slot_name)[index];
    const auto var = program.find_var_recursive(block_idx, name);
    if (slot.traits.of_block && !var) {
      throw NotFound(op.type(), ": ", slot_name, " must be a variable of block ", block_idx,
                     " or of a block around it, got the unknown name '", name, "'");
    }
    if (var) check_output(op, slot, *var, context.output(slot_name, index));
  });
  BlockDesc& block = program.block(block_idx);
  context.each_output([&](const std::string& slot_name, std::size_t index) {
    const SlotTraits& traits = def.find_output(slot_name)->traits;
    const std::string& name = completed.output(slot_name)[index];
    if (traits.of_block) return;
    auto var = program.find_var_recursive(block_idx, name);
    if (!var) {
      var = block.var(name);
      if (traits.array) var->set_type(VarType::kTensorArray);
    }
    if (is_fixed(*var) || (traits.array && !is_blank(*var))) return;
    const TensorSpec& spec = context.output(slot_name, index);
    var->set_shape(spec.shape);
    var->set_dtype(spec.dtype);
    if (!traits.array) var->set_type(spec.rows ? VarType::kSelectedRows : VarType::kTensor);
  });
  op.set_attrs(completed.attrs());
}

BlockDesc::OpPtr add_op(const OpRegistry& registry,
                        ProgramDesc& program,
                        std::int64_t block_idx,
                        std::size_t index,
                        OpDesc op) {
  BlockDesc& block = program.block(block_idx);
  require(index <= block.ops().size(), "block ", block_idx, ": an operator can be added at 0 to ",
          block.ops().size(), ", got ", index);
  infer_op(registry, program, block_idx, op);
  return block.insert_op(index, std::move(op));
}

}  // namespace fluidcore
