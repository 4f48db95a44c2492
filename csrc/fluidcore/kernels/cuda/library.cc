#include "fluidcore/kernels/cuda/library.h"

#include <dlfcn.h>

#include "fluidcore/base/error.h"

namespace fluidcore::cuda {

Library::Library(const char* file, const char* package)
    : file_(file), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* const why = dlerror();
  throw Error("cuda: ", file_, " must be there, got: ", why == nullptr ? "no reason" : why,
              "; pip install ", package);
}

void* Library::find(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) throw Error("cuda: ", file_, " must have ", name, ", got another version");
  return found;
}

}  // namespace fluidcore::cuda
