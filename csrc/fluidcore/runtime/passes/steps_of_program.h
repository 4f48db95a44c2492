#pragma once

#include "fluidcore/runtime/passes/step.h"

namespace fluidcore {

class OpRegistry;
class ProgramDesc;

// The operators of block 0, each with the block that it runs. Throws, naming the operator, what
// OpRegistry::get, OpDef::complete and check_sub_block throw; InvalidArgument for a block that two
// operators run. So there are as many steps as the program has operators.
Steps steps_of_program(const ProgramDesc& program, const OpRegistry& ops);

}  // namespace fluidcore
