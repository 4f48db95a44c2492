#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fluidcore/runtime/cells.h"
#include "fluidcore/runtime/frames.h"

namespace fluidcore {

class Scope;

// What goes on around the kernel of a step.
struct Surroundings {
  struct Copy {
    const Cell* from;
    const Cell* to;
    std::size_t bytes;
  };
  std::vector<Copy> before;                   // starting values of what the step's block writes
  std::vector<View> views;                    // of what the step writes
  std::vector<View> constants;                // of what the step's block reads and never writes
  std::vector<View> removed;                  // elements that the step takes out of arrays
  std::vector<std::function<void()>> checks;  // throw where an input has no value
  std::vector<Copy> after;                    // of results that could not be written in place
  std::vector<bool*> set;                     // of variables that have a value from now on

  Kernel around(Kernel kernel, DeviceContext& device) const;
};

// Gives the steps of a Plan the cells of their variables.
//
// In the block that a variable belongs to, every operator that writes it may give it a new cell.
// While a block inside runs, it keeps the cell that it has: the operators there write to it in
// place.
class Variables {
 public:
  Variables(Frames& frames, Cells& cells, const Scope& scope)
      : frames_(frames), cells_(cells), scope_(scope) {}

  // The cell of an input. Throws InvalidArgument when it has no value, or is an array where the
  // slot takes a tensor, or the reverse.
  Cell* read(Frame& frame,
             const Step& step,
             const OpDef::Slot& slot,
             const std::string& name,
             Surroundings& surroundings);
  // The cell of an output. Throws InvalidArgument when the variable must keep its shape and does
  // not.
  Cell* write(Frame& frame,
              const Step& step,
              const OpDef::Slot& slot,
              const std::string& name,
              const TensorSpec& spec,
              Surroundings& surroundings);
  // The same for an output whose elements are those of the input in `of` from `begin` on: null,
  // unless nobody can notice that both are in one memory. Of an array it is the last element, which
  // the step, and no other of `frame`, removes.
  Cell* view(Frame& frame,
             const std::string& name,
             const TensorSpec& spec,
             const Cell* of,
             std::int64_t begin,
             Surroundings& surroundings);
  // Gives the variables of `frame` that the block of a step writes cells that it may write to.
  void open_to_block(Frame& frame, const Body& body, Surroundings& surroundings);
  // A variable of the block of `inside` that the operator `type` sets before each run.
  Cell* give(Frame& inside, const std::string& type, const std::string& name, TensorSpec spec);
  // Gives what the rest of a block that was cut would have written cells without a value, of the
  // shape that the program declares, 0 where an extent is unknown.
  void stand_in_for_unwritten(Frame& inside, const Body& body);
  // Where a variable is after the steps so far; its cell is null where it has no value.
  FetchCell newest(Frame& frame, const std::string& name);

 private:
  Cell* find(Frame& home, const std::string& name);
  Cell* find_written_later(Frame& frame, Frame& home, const std::string& name);
  Cell* from_scope(const std::string& name);
  Cell* write_local(Frame& frame, const std::string& name, Cell* old, const TensorSpec& spec);
  Cell* write_array(Frame& frame,
                    const Step& step,
                    const OpDef::Slot& slot,
                    const std::string& name,
                    const TensorSpec& spec);
  void use(Frame& home, const Cell* cell);
  Cell* as_constant(Frame& frame, const Frame& home, const std::string& name, Cell* cell);
  bool is_surely_set(const Frame& frame, const Frame& home, const Cell* cell) const;

  Frames& frames_;
  Cells& cells_;
  const Scope& scope_;
};

}  // namespace fluidcore
