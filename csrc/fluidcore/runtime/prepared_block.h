#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fluidcore/op/op_def.h"
#include "fluidcore/runtime/lookout.h"
#include "fluidcore/runtime/profile.h"

namespace fluidcore {

class DeviceContext;

// A variable in the memory of another one, which may be at another address in every run.
struct View {
  Cell* cell;
  const Cell* of;

  void point() const {
    cell->data = static_cast<std::byte*>(of->data) + cell->offset;
    cell->version = of->version;
  }
};

// What one step does when the Plan runs.
struct PreparedStep {
  struct Output {
    std::string name;
    const Cell* cell;
  };

  Kernel kernel;
  std::string type;  // of the operator; of the first one where the step does the work of several
  std::string note;  // names the operator in messages
  std::string name = {};  // where there are several: "elementwise_add + relu"
  std::size_t count = 1;  // of the operators
  std::int64_t block = 0;
  std::size_t index = 0;   // of the operator in its block
  std::int64_t work = 0;   // see Lookout; that of its block not counted
  std::int64_t flops = 0;  // 0 where they are not known
  bool runs_block = false;
  std::vector<Output> outputs = {};
  std::vector<View> views = {};  // which its kernel points, too
};

// What is seen to between the steps of a run, in all blocks of a Plan.
struct Watch {
  DeviceContext* device = nullptr;  // where the steps run
  Lookout lookout;
  Recorder recorder;
  bool check_nan = false;  // whether to look for NaN after every step
  bool waits = false;      // for the device, after every step, so that its errors are the step's
};

// A variable of a block that is calculated where the next element of an array will be.
struct NextElement {
  Place place;
  const Cell* array = nullptr;
};

// A block that can be run: it looks up and allocates nothing but elements of arrays.
struct PreparedBlock {
  std::vector<PreparedStep> steps;
  std::vector<Cell*> arrays;  // of this block: they start empty
  std::vector<NextElement> nexts;
  std::vector<bool*> unset;         // of this block: whether a variable has a value; false at first
  Watch* watch = nullptr;           // of the run
  std::size_t last_look = kAlways;  // no step after this one may be interrupted

  static constexpr std::size_t kAlways = static_cast<std::size_t>(-1);

  void start();
  // Runs every step once, unless the lookout ends the run. An error gets the note of its operator,
  // the innermost one; ExtentsChanged becomes OtherExtents.
  void run() { run(0, steps.size()); }
  void run(std::size_t first, std::size_t last);  // some of them
  void check(std::size_t i);                      // what the kernel of a step does before its work
};

}  // namespace fluidcore
