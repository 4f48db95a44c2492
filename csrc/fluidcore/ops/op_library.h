#pragma once

#include <string>
#include <vector>

#include "fluidcore/op/op_registry.h"

namespace fluidcore {

// Operators that were compiled elsewhere, against these headers and this library. A shared library
// of them has two functions, the first one of which fluidcore_add_op_library() of CMake adds:
//
//   const char* fluidcore_version() { return fluidcore::kVersion.data(); }
//   void fluidcore_register(fluidcore::OpRegistry& registry) {
//     registry.add(fluidcore::OpDef("mine"). ...);
//   }
//
// load_op_library() adds its operators to `ops`, and kernels for narrower dtypes; it returns their
// names, sorted. This runs code of the library, which stays loaded. Throws NotFound where there is
// no such file, and InvalidArgument where it cannot be loaded, lacks a function, was built against
// another version or defines an operator that exists; then `ops` is as before.
std::vector<std::string> load_op_library(const std::string& path, OpRegistry& ops);

}  // namespace fluidcore

extern "C" const char* fluidcore_version();
extern "C" void fluidcore_register(fluidcore::OpRegistry& registry);
