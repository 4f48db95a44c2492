#pragma once

#include <string>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/shape.h"
#include "fluidcore/op/cell.h"

namespace fluidcore {

// The block of an operator, made ready to run: what the kernels of control flow are given. The
// block reads and writes the variables around it in their own memory.
class SubBlock {
 public:
  virtual ~SubBlock() = default;

  // Runs every operator of the block once.
  virtual void run() = 0;

  // A variable that the operator sets before each run (BlockTraits::given): it has no memory of its
  // own, so the kernel must point it somewhere. The block never writes to that memory.
  virtual Cell& given(const std::string& name) = 0;

  // Where the block leaves the value of one of BlockTraits::results.
  virtual const Cell& result(const std::string& name) = 0;
  // The same for a kernel with BlockTraits::places_results, which must set it before each run.
  // Nothing where the block has memory for the result.
  virtual Place place_of(const std::string& name) = 0;

  // Whether a run only asks a device for work; see Kernel::enqueued().
  virtual bool is_enqueued() const { return false; }
};

// Thrown by the kernel of an operator whose OpDef says extents_from_data(): a Plan for other
// extents is needed. Never reaches the user.
class ExtentsChanged : public Error {
 public:
  explicit ExtentsChanged(Shape extents)
      : Error("the extents that depend on the data are now ", extents),
        extents_(std::move(extents)) {}
  const Shape& extents() const { return extents_; }

 private:
  Shape extents_;
};

}  // namespace fluidcore
