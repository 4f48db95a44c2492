#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fluidcore/op/op_def.h"

namespace fluidcore {

class BlockDesc;
struct Body;

// A variable of the forward block of a gradient block, of which a step needs the shape only.
struct ForwardShape {
  std::int64_t block = 0;
  std::string name;
};

// One operator of a Plan in the making. Passes take steps and return steps; the program that they
// were copied from is never changed.
struct Step {
  OpDesc op;
  const OpDef* def = nullptr;
  std::size_t index = 0;  // in its block: for messages and for random numbers
  std::int64_t block = 0;
  std::vector<std::string> lasting = {};  // what it writes that lives in the scope
  std::vector<ForwardShape> shapes = {};  // inputs that are none of the variables around
  std::shared_ptr<Body> body = nullptr;   // of an operator that runs a block; no other step has it

  bool outlives_run() const { return !lasting.empty(); }
};

using Steps = std::vector<Step>;

// The block that a step runs.
struct Body {
  const BlockDesc* block = nullptr;
  Steps steps = {};
  std::vector<std::string> results = {};  // what the operator reads after each run

  // The variables outside the block that its steps write, blocks within it included.
  std::set<std::string> writes = {};
  void find_writes();  // to be called when `steps` have changed

  // True for a variable of the block, which lives for one run of it. What lives in the scope is
  // outside, wherever it is declared.
  bool is_local(const std::string& name) const;
};

// "operator 3 of block 0 (mul), added at train.py:41"
std::string describe(const Step& step);

// The variables that the step itself reads and writes, without those that only its block does, and
// without Step::shapes. `kills` leaves out what may keep something of its old value.
std::vector<std::string> reads(const Step& step);
std::vector<std::string> writes(const Step& step);
std::vector<std::string> kills(const Step& step);

}  // namespace fluidcore
