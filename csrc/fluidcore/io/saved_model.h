#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fluidcore/op/op_registry.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/scope.h"

namespace fluidcore {

// A folder of fluid.io.save_inference_model or save_training_model: a program, and the values of
// what lives between its runs.
struct SavedModel {
  std::unique_ptr<ProgramDesc> program;
  std::shared_ptr<Scope> scope;
  std::vector<std::string> feeds;    // in the order in which they were named
  std::vector<std::string> fetches;  // likewise
  std::map<std::string, std::string> metadata;
};

// Nothing in the files is trusted or executed. Throws NotFound for a file, an operator or a value
// that is not there, and InvalidArgument for a damaged file, files of different saves, and a value
// of another shape or dtype than its variable.
SavedModel load_saved_model(const std::string& folder, const OpRegistry& ops);

// Writes the model in the place of the one that is there, which can be loaded until the new one
// can. Throws Error when a file cannot be written.
void save_model(const SavedModel& model, const std::string& folder);

}  // namespace fluidcore
