#include "fluidcore/runtime/passes/steps_of_program.h"

#include <set>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/program/block_effects.h"
#include "fluidcore/program/program_desc.h"

namespace fluidcore {

namespace {

class StepReader {
 public:
  StepReader(const ProgramDesc& program, const OpRegistry& ops) : program_(program), ops_(ops) {}

  Steps read(const BlockDesc& block) {
    Steps steps;
    for (std::size_t i = 0; i < block.ops().size(); ++i) {
      Step step{*block.ops()[i], nullptr, i, block.idx()};
      try {
        complete(step, block);
      } catch (Error& error) {
        if (error.note().empty()) error.set_note(describe(step));
        throw;
      }
      steps.push_back(std::move(step));
    }
    return steps;
  }

 private:
  void complete(Step& step, const BlockDesc& block) {
    step.def = &ops_.get(step.op.type());
    step.def->complete(step.op);
    step.lasting = writes(step);
    std::erase_if(step.lasting, [&](const std::string& name) {
      const auto var = block.idx() == 0 ? block.find_var(name) : find_outside_forward(block, name);
      return !var || !var->persistable();
    });
    if (block.idx() != 0) find_shapes(step, block);
    if (step.def->block_traits() != nullptr) step.body = read_body(step, block);
  }

  std::shared_ptr<Body> read_body(const Step& step, const BlockDesc& around) {
    const std::int64_t idx = std::get<BlockIndex>(step.op.attr("sub_block")).value;
    check_sub_block(program_, around.idx(), idx, step.op.type());
    require(used_.insert(idx).second, step.op.type(), ": sub_block must be run by one operator ",
            "only, got block ", idx, ", which another one runs");
    auto body = std::make_shared<Body>();
    body->block = &program_.block(idx);
    body->steps = read(*body->block);
    if (const auto& results = step.def->block_traits()->results) body->results = results(step.op);
    body->find_writes();
    return body;
  }

  // The variable that holds a value under this name.
  BlockDesc::VarPtr find_outside_forward(const BlockDesc& block, const std::string& name) const {
    for (const BlockDesc* around = &block;; around = &program_.block(around->parent_idx())) {
      if (auto var = around->find_var(name)) return var;
      if (around->parent_idx() < 0) return nullptr;
    }
  }

  void find_shapes(Step& step, const BlockDesc& block) const {
    for (const auto& [slot, names] : step.op.inputs()) {
      const OpDef::Slot* declared = step.def->find_input(slot);
      if (declared->traits.of_block || !step.def->reads_only_shape(step.op, *declared)) continue;
      for (const std::string& name : names) {
        const std::int64_t forward = find_in_forward(block, name);
        if (forward >= 0) step.shapes.push_back({forward, name});
      }
    }
  }

  // The forward block whose variable the name means where only a shape is asked for, or -1.
  std::int64_t find_in_forward(const BlockDesc& block, const std::string& name) const {
    for (const BlockDesc* around = &block;; around = &program_.block(around->parent_idx())) {
      if (around->find_var(name)) return -1;
      const std::int64_t forward = program_.find_in_forward(around->idx(), name);
      if (forward >= 0 || around->parent_idx() < 0) return forward;
    }
  }

  const ProgramDesc& program_;
  const OpRegistry& ops_;
  std::set<std::int64_t> used_;
};

}  // namespace

Steps steps_of_program(const ProgramDesc& program, const OpRegistry& ops) {
  return StepReader(program, ops).read(program.block(0));
}

}  // namespace fluidcore
