#include "fluidcore/ops/op_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>

#include "fluidcore/base/error.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/version.h"

namespace fluidcore {

namespace {

constexpr const char* kWho = "load_op_library: ";

// From the root on, so that no folder of libraries is searched.
std::string whole_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> whole(realpath(path.c_str(), nullptr), &std::free);
  if (!whole) throw NotFound(kWho, "no file ", path);
  return whole.get();
}

// Names are bound when they are first called, so that a library of another version can say so.
void* open_library(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  require(library != nullptr, kWho, "the file must be a shared library that can be loaded, got ",
          library == nullptr ? dlerror() : "");
  return library;
}

template <class Function>
Function* find_function(void* library, const char* name, const std::string& file) {
  void* const symbol = dlsym(library, name);
  require(symbol != nullptr, kWho, "a library of operators must have the C functions ",
          "fluidcore_version and fluidcore_register, got ", file, " without ", name);
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace

std::vector<std::string> load_op_library(const std::string& path, OpRegistry& ops) {
  const std::string file = whole_path(path);
  void* const library = open_library(file);
  const std::string_view version =
      find_function<const char*()>(library, "fluidcore_version", file)();
  require(version == kVersion, kWho, file, " must be built against fluidcore ", kVersion,
          ", got one built against ", version);
  const auto register_ops = find_function<void(OpRegistry&)>(library, "fluidcore_register", file);
  OpRegistry added;
  try {
    register_ops(added);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {
    throw InvalidArgument(kWho, "fluidcore_register of ", file, " must not fail, got ",
                          failure.what());
  }
  add_narrow_kernels(added);
  ops.merge(added);
  return added.types();
}

}  // namespace fluidcore
