#include "fluidcore/io/files.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "fluidcore/base/error.h"

namespace fluidcore {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) throw NotFound("load: no file ", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view content) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(fresh, path, error);
  if (file && !error) return;
  std::remove(fresh.c_str());
  throw Error("save: ", path, " must be a file that can be written, got ",
              error ? error.message() : "no room or no permission",
              "; what was saved before is unchanged");
}

}  // namespace fluidcore
