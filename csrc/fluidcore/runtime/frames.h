#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/frame.h"

namespace fluidcore {

// The frames of a Plan, and what a name means in one of them.
//
// A name belongs to the nearest block, from the inside to the outside, that declares it; what lives
// in the scope and what no block declares, to block 0.
class Frames {
 public:
  Frames(const ProgramDesc& program, PreparedBlock& main);

  Frame& main() { return *frames_.at(0); }
  Frame& enter(Frame& around, const Body& body, PreparedBlock& prepared);

  Frame& home_of(Frame& frame, const std::string& name);
  BlockDesc::VarPtr declared(const Frame& frame, const std::string& name) const;
  bool is_persistable(const Frame& frame, const std::string& name) const;

  // The spec that a variable of `frame` has, or is declared to have. Throws NotFound, starting with
  // `who`, where it has none.
  TensorSpec spec_of(Frame& frame, const std::string& who, const std::string& name);
  // The same of a variable of a forward block, whose frame may not be there.
  TensorSpec spec_of(const ForwardShape& shape) const;

  // Throws InvalidArgument: `who`, say "mul: X", reads a variable without a value.
  [[noreturn]] void report_unwritten(const Frame& frame,
                                     const std::string& who,
                                     const std::string& name) const;

 private:
  const ProgramDesc& program_;
  std::map<std::int64_t, std::unique_ptr<Frame>> frames_;  // by block
};

}  // namespace fluidcore
