#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fluidcore/runtime/passes/step.h"

namespace fluidcore {

class OpRegistry;
class ProgramDesc;

// Keeps the steps that the fetches need, and those that write a variable that outlives the run. Of
// their intermediate outputs, those stay that are needed.
//
// In a block that a step runs, those are kept that write what is needed after that step, by its
// operator, or in a later run of the block; and, in the forward block of a gradient block, those
// that give variables the shapes that the gradient block asks for. A block may not be run, so a
// step with a block never makes up for the values before it. Bodies are changed in place.
//
// Linear in the number of steps, times the length of the longest chain of variables along which a
// loop hands values from step to step; beyond 64 it keeps more than it must.
Steps prune(Steps steps, const std::vector<std::string>& fetches);

// The operators of a program that some variables of block 0 need, by the same rule, but that no
// variable is wanted because it outlives the run: block -> positions, in ascending order. Variables
// of block 0 that are `given` need no operators. Throws as steps_of_program.
std::map<std::int64_t, std::vector<std::size_t>> needed_ops(const ProgramDesc& program,
                                                            const OpRegistry& ops,
                                                            const std::vector<std::string>& targets,
                                                            const std::vector<std::string>& given);

}  // namespace fluidcore
