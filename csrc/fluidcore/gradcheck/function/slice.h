#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fluidcore/op/op_registry.h"
#include "fluidcore/program/program_desc.h"

namespace fluidcore::gradcheck {

// What is left to run of a program when one fed value changes and the others do not.
struct Slice {
  // Null when every operator must run. Operators keep their places, which random numbers depend
  // on; those that need not run write nothing.
  std::unique_ptr<ProgramDesc> program;
  // Variables that the slice takes as they are when the whole program has run: they must be fed to
  // it besides what is fed to the whole. Outputs that do not change are among them.
  std::vector<std::string> calculated;
};

// The operators of block 0 that depend on the elements of the fed variable `input`, and those that
// write something that cannot be fed: tensor arrays, and variables that are read while they hold
// different values, as in a program that works in place. An operator with a block is one operator.
// No variable may be persistable. The slice calculates what the whole program does, bit for bit,
// as long as no fed value but `input` changes.
Slice slice(const OpRegistry& ops,
            const ProgramDesc& program,
            const std::set<std::string>& feeds,
            const std::string& input,
            const std::vector<std::string>& outputs);

}  // namespace fluidcore::gradcheck
