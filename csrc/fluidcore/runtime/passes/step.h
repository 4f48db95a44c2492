#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fluidcore/op/op_def.h"

namespace fluidcore {

// One operator of a Plan in the making. Passes take steps and return steps; the program that they
// were copied from is never changed.
struct Step {
  OpDesc op;
  const OpDef* def = nullptr;
  std::size_t index = 0;  // in the block: for messages and for random numbers
};

using Steps = std::vector<Step>;

// "operator 3 of block 0 (mul), added at train.py:41"
std::string describe(const Step& step);

}  // namespace fluidcore
