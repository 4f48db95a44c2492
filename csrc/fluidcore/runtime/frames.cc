#include "fluidcore/runtime/frames.h"

#include "fluidcore/base/error.h"

namespace fluidcore {

Frames::Frames(const ProgramDesc& program, PreparedBlock& main) : program_(program) {
  frames_[0] = std::make_unique<Frame>(program.block(0), nullptr, main);
}

Frame& Frames::enter(Frame& around, const Body& body, PreparedBlock& prepared) {
  auto& frame = frames_[body.block->idx()];
  frame = std::make_unique<Frame>(*body.block, &around, prepared);
  return *frame;
}

Frame& Frames::home_of(Frame& frame, const std::string& name) {
  for (Frame* inside = &frame; inside->around != nullptr; inside = inside->around) {
    const auto var = inside->block.find_var(name);
    if (var) return var->persistable() ? main() : *inside;
  }
  return main();
}

BlockDesc::VarPtr Frames::declared(const Frame& frame, const std::string& name) const {
  for (const Frame* inside = &frame; inside != nullptr; inside = inside->around) {
    if (auto var = inside->block.find_var(name)) return var;
  }
  return nullptr;
}

bool Frames::is_persistable(const Frame& frame, const std::string& name) const {
  const auto var = declared(frame, name);
  return var && var->persistable();
}

TensorSpec Frames::spec_of(Frame& frame, const std::string& who, const std::string& name) {
  if (const Cell* cell = home_of(frame, name).find(name)) return cell->spec;
  if (const auto var = program_.find_var_recursive(frame.block.idx(), name)) return var->spec();
  throw NotFound(who, ": no variable '", name, "' in block ", frame.block.idx(),
                 ", which the operator runs");
}

TensorSpec Frames::spec_of(const ForwardShape& shape) const {
  const auto frame = frames_.find(shape.block);
  const Cell* cell = frame == frames_.end() ? nullptr : frame->second->find(shape.name);
  return cell ? cell->spec : program_.block(shape.block).find_var(shape.name)->spec();
}

void Frames::report_unwritten(const Frame& frame,
                              const std::string& who,
                              const std::string& name) const {
  const auto var = declared(frame, name);
  if (var && var->is_data()) {
    throw InvalidArgument(who, " '", name, "' must be fed, got no value; pass feed={'", name,
                          "': ...}");
  }
  if (var && var->persistable()) {
    throw InvalidArgument(who, " '", name, "' must be initialized, got no value in the scope; ",
                          "run the startup program first");
  }
  throw InvalidArgument(who, " '", name, "' must be written before it is read, ",
                        "got no operator before that writes it");
}

}  // namespace fluidcore
