#pragma once

#include <string_view>

#include "fluidcore/op/op_registry.h"
#include "fluidcore/program/program_desc.h"

namespace fluidcore {

// Completes and checks `op`, infers its outputs from the variables that block `block_idx` can see,
// and creates or updates the output variables in that block. Persistable and fed variables keep
// their declared shape, which must agree. Throws InvalidArgument or NotFound; then neither the
// program nor `op` has changed.
void infer_op(const OpRegistry& registry, ProgramDesc& program, std::int64_t block_idx, OpDesc& op);

// infer_op, then adds the operator before position `index` of the block.
BlockDesc::OpPtr add_op(const OpRegistry& registry,
                        ProgramDesc& program,
                        std::int64_t block_idx,
                        std::size_t index,
                        OpDesc op);

}  // namespace fluidcore
