#pragma once

#include <string>

namespace fluidcore::cuda {

// A library that is loaded when it is first needed, so that a build with CUDA starts without it.
class Library {
 public:
  // `file` as in "libcublasLt.so.13", `package` the one on PyPI that has it. Throws Error where it
  // cannot be loaded, with what to install.
  Library(const char* file, const char* package);

  // Throws Error where the library is another version, without it.
  template <class Function>
  Function* symbol(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

 private:
  void* find(const char* name) const;

  std::string file_;
  void* handle_;
};

}  // namespace fluidcore::cuda
