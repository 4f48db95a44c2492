#pragma once

#include <cstdint>
#include <string>

#include "fluidcore/base/error.h"
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
};

// Thrown by the kernel of an operator whose OpDef says extent_from_data(): a Plan for another
// extent is needed. Never reaches the user.
class ExtentChanged : public Error {
 public:
  explicit ExtentChanged(std::int64_t extent)
      : Error("the extent that depends on the data is now ", extent), extent_(extent) {}
  std::int64_t extent() const { return extent_; }

 private:
  std::int64_t extent_;
};

}  // namespace fluidcore
