#pragma once

#include <map>
#include <string>

#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// Named tensors, and text about them, as a file of the format safetensors holds them.
struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Nothing in the file is trusted: throws InvalidArgument for one that is truncated, has tensors
// beside their bytes, of unknown dtypes, twice or over each other, before memory is asked for; and
// NotFound where there is none.
TensorFile read_tensors(const std::string& path);

// Writes path.new, and then moves it to `path`: whole or not at all. Throws Error when it cannot be
// written; then what was there is as before.
void write_tensors(const std::string& path, const TensorFile& file);

}  // namespace fluidcore
