#include "fluidcore/op/infer.h"

#include <string>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"

namespace fluidcore {

namespace {

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
  def.infer(context);
  def.check_dtype(def.kernel_dtype(context));
  context.each_output([&](const std::string& slot, std::size_t index) {
    const std::string& name = completed.output(slot)[index];
    const TensorSpec& spec = context.output(slot, index);
    const auto var = program.find_var_recursive(block_idx, name);
    if (!var || !is_fixed(*var)) return;
    require(var->dtype() == spec.dtype && compatible(var->shape(), spec.shape), op.type(), ": ",
            slot, " must fit the variable '", name, "', declared as ", var->spec(), ", got ", spec);
  });
  BlockDesc& block = program.block(block_idx);
  context.each_output([&](const std::string& slot, std::size_t index) {
    const std::string& name = completed.output(slot)[index];
    auto var = program.find_var_recursive(block_idx, name);
    if (!var) var = block.var(name);
    if (is_fixed(*var)) return;
    var->set_shape(context.output(slot, index).shape);
    var->set_dtype(context.output(slot, index).dtype);
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
