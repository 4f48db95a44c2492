// The version of fluidcore that a library of operators is built against.
#include "fluidcore/ops/op_library.h"
#include "fluidcore/version.h"

const char* fluidcore_version() {
  return fluidcore::kVersion.data();
}
